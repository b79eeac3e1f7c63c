"""The systems of the three papers: each module holds a private recipe, and beside it the algorithm that the paper prints.

A printed form reads raw records, so no guarantee holds for what it releases. It is for reproduction: it fits and predicts, and
says why no guarantee holds. Only the catalogue, audits and ``hedgerow reproduce`` know these modules.
"""
