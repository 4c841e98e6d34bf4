package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

const (
	topic        = "sarama"
	transactions = 40
	records      = 5
)

// TestSaramaCommitsEachRecordOnce commits three of four transactions, aborts the fourth, and reads the topic.
// It prints "sent" between the acknowledgements of a transaction and its end: the moment for a kill.
func TestSaramaCommitsEachRecordOnce(t *testing.T) {
	brokers := []string{os.Getenv("KGO_SEEDS")}
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Net.MaxOpenRequests = 1
	config.Metadata.Retry.Max = 200
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 200
	config.Producer.Transaction.ID = topic
	config.Producer.Transaction.Retry.Max = 200
	config.Consumer.IsolationLevel = sarama.ReadCommitted

	producer, err := sarama.NewSyncProducer(brokers, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	expected := map[string]bool{}
	for number := range transactions {
		if err := producer.BeginTxn(); err != nil {
			t.Fatal(err)
		}
		for record := range records {
			value := fmt.Sprintf("%d-%d", number, record)
			if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}); err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			expected[value] = number%4 != 3
		}
		fmt.Println("sent", number)
		end := producer.CommitTxn
		if number%4 == 3 {
			end = producer.AbortTxn
		}
		if err := end(); err != nil {
			t.Fatalf("the end of transaction %d: %v", number, err)
		}
	}
	count(t, brokers, config, expected)
}

// count reads until nothing comes for three seconds, so it also finds duplicates.
func count(t *testing.T, brokers []string, config *sarama.Config, expected map[string]bool) {
	consumer, err := sarama.NewConsumer(brokers, config)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()
	read := map[string]int{}
	for {
		select {
		case message := <-partition.Messages():
			read[string(message.Value)]++
		case <-time.After(3 * time.Second):
			for value, committed := range expected {
				if times := read[value]; (times == 1) != committed || times > 1 {
					t.Errorf("%s is read %d times (committed: %t)", value, times, committed)
				}
			}
			return
		}
	}
}
