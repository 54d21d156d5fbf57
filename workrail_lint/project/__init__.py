"""A repository as a whole: its configuration, its documents, what is kept between runs."""
