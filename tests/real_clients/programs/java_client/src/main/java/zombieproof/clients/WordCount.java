package zombieproof.clients;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * How often each word has come, exactly once: arguments BOOTSTRAP STATE_DIRECTORY. Each word that is read makes one record
 * "WORD=COUNT"; words are sent through a topic of their own to whoever counts them, and counts are kept in a store with a
 * changelog. Says what state it is in, and ends with its input.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] arguments) throws Exception {
        Properties configs = new Properties();
        configs.put("application.id", "words");
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("state.dir", arguments[1]);
        configs.put("processing.guarantee", "exactly_once_v2");
        configs.put("commit.interval.ms", 50);
        configs.put("statestore.cache.max.bytes", 0);
        configs.put("replication.factor", -1);
        configs.put("default.key.serde", Serdes.StringSerde.class.getName());
        configs.put("default.value.serde", Serdes.StringSerde.class.getName());
        configs.put("consumer.auto.offset.reset", "earliest");
        configs.put("consumer.session.timeout.ms", 2_000);
        configs.put("consumer.heartbeat.interval.ms", 500);
        configs.put("consumer.max.poll.records", 20);
        configs.put("producer.linger.ms", 0);
        KafkaStreams streams = new KafkaStreams(topology(), configs);
        streams.setStateListener((now, before) -> say("state " + now));
        streams.setUncaughtExceptionHandler(error -> {
            say("error " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        untilInputEnds();
        streams.close(Duration.ofSeconds(20));
        say("closed");
    }

    private static Topology topology() {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("input")
                .flatMapValues(line -> List.of(line.split(" ")))
                .map((nothing, word) -> KeyValue.pair(word, word))
                .groupByKey()
                .count()
                .toStream()
                .map((word, count) -> KeyValue.pair(word, word + "=" + count))
                .to("output");
        return builder.build();
    }

    private static void untilInputEnds() throws IOException {
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private static void say(String what) {
        System.out.println(what);
        System.out.flush();
    }
}
