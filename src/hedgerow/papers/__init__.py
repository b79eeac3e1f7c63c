"""The systems of the three papers: each module holds a private recipe, and beside it the algorithm that the paper prints."""
