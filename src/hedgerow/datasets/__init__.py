"""Published data sets, each with a public schema.

A loader looks in the folder that its ``data_home`` names, else in ``HEDGEROW_DATA``, else in the cache, and fetches the
files if their licence allows it. hedgerow carries no data itself.
"""

from hedgerow.datasets.dataset import Dataset
from hedgerow.datasets.sets import (
    load_adult,
    load_affairs,
    load_bank,
    load_census_income,
    load_diabetes_prediction,
    load_doctor_visits,
    load_wall_following,
)

__all__ = [
    "Dataset",
    "load_adult",
    "load_affairs",
    "load_bank",
    "load_census_income",
    "load_diabetes_prediction",
    "load_doctor_visits",
    "load_wall_following",
]
