"""The models of a plan of Hops: printed, of interchangeable servers, and class by class."""
