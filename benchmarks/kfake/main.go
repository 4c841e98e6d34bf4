// kfake as a server: one broker in memory, which benchmarks/wire.py measures beside ours.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 0, "the port to listen at, on 127.0.0.1; 0: any that is free")
	flag.Parse()
	options := []kfake.Opt{kfake.NumBrokers(1)}
	if *port != 0 {
		options = append(options, kfake.Ports(*port))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %s\n", cluster.ListenAddrs()[0])
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGTERM, syscall.SIGINT)
	<-over
	cluster.Close()
}
