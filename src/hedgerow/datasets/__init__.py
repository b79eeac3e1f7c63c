"""Published data sets, each with a public schema."""

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
