// Package main names the modules whose tests are built from here (tests/real_clients/install.py).
package main

import (
	_ "github.com/IBM/sarama"
	_ "github.com/twmb/franz-go/pkg/kgo"
)

func main() {}
