// The steps (tests/real_clients/programs/steps.py) with franz-go.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 30 * time.Second

// words are what a step is asked with; each uses those that it knows.
type words struct {
	Do        string `json:"do"`
	Name      string `json:"name"`
	ID        string `json:"id"`
	TimeoutMs int    `json:"timeout_ms"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Value     string `json:"value"`
	Group     string `json:"group"`
	Isolation string `json:"isolation"`
	Count     int    `json:"count"`
	WithinMs  int    `json:"within_ms"`
	Source    string `json:"source"`
	Target    string `json:"target"`
	Ends      string `json:"ends"`
}

type copier struct {
	session *kgo.GroupTransactSession
	target  string
}

type steps struct {
	bootstrap string
	producers map[string]*kgo.Client
	readers   map[string]*kgo.Client
	copiers   map[string]copier
}

func main() {
	known := steps{os.Args[1], map[string]*kgo.Client{}, map[string]*kgo.Client{}, map[string]copier{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked words
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if ok, err := known.do(asked); err != nil {
			tell(map[string]any{"error": nameOf(err), "says": err.Error()})
		} else {
			tell(map[string]any{"ok": ok})
		}
	}
}

func tell(said map[string]any) {
	line, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func nameOf(err error) string {
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		return kafka.Message
	}
	return fmt.Sprintf("%T", err)
}

func (s steps) do(asked words) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch asked.Do {
	case "version":
		return version(), nil
	case "producer":
		return nil, s.producer(ctx, asked)
	case "begin":
		return nil, s.producers[asked.Name].BeginTransaction()
	case "send":
		record := &kgo.Record{Topic: asked.Topic, Partition: asked.Partition, Value: []byte(asked.Value)}
		return nil, s.producers[asked.Name].ProduceSync(ctx, record).FirstErr()
	case "commit":
		return nil, s.producers[asked.Name].EndTransaction(ctx, kgo.TryCommit)
	case "abort":
		return nil, s.producers[asked.Name].EndTransaction(ctx, kgo.TryAbort)
	case "reader":
		return nil, s.reader(asked)
	case "read":
		found := messages(s.readers[asked.Name].PollRecords, asked.Count, time.Duration(asked.WithinMs)*time.Millisecond)
		values := []string{}
		for _, each := range found {
			values = append(values, string(each.Value))
		}
		return values, nil
	case "committed":
		return s.committed(ctx, asked)
	case "copier":
		return nil, s.copier(ctx, asked)
	case "copy":
		return nil, s.copy(ctx, asked)
	case "loop":
		return nil, s.loop(asked)
	}
	return nil, fmt.Errorf("%s is no step", asked.Do)
}

func version() string {
	told, _ := debug.ReadBuildInfo()
	for _, each := range told.Deps {
		if each.Path == "github.com/twmb/franz-go" {
			return each.Version
		}
	}
	return "unknown"
}

// ---------------------------------------------------------------- transactions

func (s steps) transactional(asked words) []kgo.Opt {
	timeout := 60 * time.Second
	if asked.TimeoutMs != 0 {
		timeout = time.Duration(asked.TimeoutMs) * time.Millisecond
	}
	return []kgo.Opt{
		kgo.SeedBrokers(s.bootstrap),
		kgo.TransactionalID(asked.ID),
		kgo.TransactionTimeout(timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	}
}

func (s steps) producer(ctx context.Context, asked words) error {
	made, err := kgo.NewClient(s.transactional(asked)...)
	if err != nil {
		return err
	}
	s.producers[asked.Name] = made
	_, _, err = made.ProducerID(ctx)
	return err
}

// ---------------------------------------------------------------- reading

func consuming(group, topic, isolation string) []kgo.Opt {
	level := kgo.ReadCommitted()
	if isolation == "read_uncommitted" {
		level = kgo.ReadUncommitted()
	}
	return []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(level),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(2 * time.Second),
		kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.FetchMaxWait(200 * time.Millisecond),
	}
}

func (s steps) reader(asked words) error {
	options := append(consuming(asked.Group, asked.Topic, asked.Isolation), kgo.SeedBrokers(s.bootstrap))
	made, err := kgo.NewClient(options...)
	s.readers[asked.Name] = made
	return err
}

// messages are the next ones, as many as come in time; what the client says of its connections is passed over.
func messages(poll func(context.Context, int) kgo.Fetches, count int, within time.Duration) []*kgo.Record {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	found := []*kgo.Record{}
	for len(found) < count && ctx.Err() == nil {
		found = append(found, poll(ctx, count-len(found)).Records()...)
	}
	return found
}

func (s steps) committed(ctx context.Context, asked words) (any, error) {
	made, err := kgo.NewClient(kgo.SeedBrokers(s.bootstrap))
	if err != nil {
		return nil, err
	}
	defer made.Close()
	told, err := kadm.NewClient(made).FetchOffsets(ctx, asked.Group)
	if err != nil {
		return nil, err
	}
	if offset, known := told.Lookup(asked.Topic, asked.Partition); known && offset.At >= 0 {
		return offset.At, nil
	}
	return nil, nil
}

// ---------------------------------------------------------------- copying

func (s steps) copier(ctx context.Context, asked words) error {
	options := append(s.transactional(asked), consuming(asked.Group, asked.Source, "read_committed")...)
	session, err := kgo.NewGroupTransactSession(append(options, kgo.RequireStableFetchOffsets())...)
	if err != nil {
		return err
	}
	s.copiers[asked.Name] = copier{session, asked.Target}
	_, _, err = session.Client().ProducerID(ctx)
	return err
}

func (s steps) copy(ctx context.Context, asked words) error {
	made := s.copiers[asked.Name]
	found := messages(made.session.PollRecords, asked.Count, patience)
	if len(found) < asked.Count {
		return fmt.Errorf("%d of %d records did not come", asked.Count-len(found), asked.Count)
	}
	wanted := kgo.TransactionEndTry(asked.Ends == "commit")
	if committed, err := made.copies(ctx, found, wanted); err != nil || committed != bool(wanted) {
		return fmt.Errorf("committed: %t, %w", committed, err)
	}
	return nil
}

// copies is one transaction; the session commits the offsets of what was polled, or goes back to what is committed.
func (c copier) copies(ctx context.Context, found []*kgo.Record, wanted kgo.TransactionEndTry) (bool, error) {
	if err := c.session.Begin(); err != nil {
		return false, err
	}
	promise := kgo.AbortingFirstErrPromise(c.session.Client())
	for _, each := range found {
		value := []byte("copy of " + string(each.Value))
		c.session.Produce(ctx, &kgo.Record{Topic: c.target, Partition: each.Partition, Value: value}, promise.Promise())
	}
	return c.session.End(ctx, wanted && kgo.TransactionEndTry(promise.Err() == nil))
}

// loop ends with an error of the session, which is fatal by its documentation.
func (s steps) loop(asked words) error {
	made := s.copiers[asked.Name]
	for {
		found := messages(made.session.PollRecords, 1, time.Second)
		if len(found) == 0 {
			continue
		}
		found = append(found, messages(made.session.PollRecords, 4, 20*time.Millisecond)...)
		committed, err := made.copies(context.Background(), found, kgo.TryCommit)
		if err != nil {
			return err
		}
		if committed {
			tell(map[string]any{"copied": len(found)})
		}
	}
}
