"""Two-phase commit as a model, without any rule of Kafka's: the graph on which other checkers were measured."""
