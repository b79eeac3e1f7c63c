"""How records in files and tables become columns of numbers, text and ids, each cell by itself."""
