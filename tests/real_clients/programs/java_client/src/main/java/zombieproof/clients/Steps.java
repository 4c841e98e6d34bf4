package zombieproof.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The steps (tests/real_clients/programs/steps.py) with Kafka's Java client. */
public final class Steps {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final String bootstrap;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    private final Map<String, KafkaConsumer<String, String>> readers = new HashMap<>();
    private final Map<String, Copier> copiers = new HashMap<>();

    private Steps(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        Steps steps = new Steps(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> said = new HashMap<>();
            try {
                said.put("ok", steps.carryOut(JSON.readTree(line)));
            } catch (Exception error) {
                said.put("error", nameOf(error));
                said.put("says", String.valueOf(error));
            }
            tell(said);
        }
        // What is still open belongs to nobody any more, as in a process that died.
        Runtime.getRuntime().halt(0);
    }

    static void tell(Map<String, Object> said) throws Exception {
        OUT.println(JSON.writeValueAsString(said));
    }

    /** The class of the innermost exception of Kafka's: the outer ones say only where it was met. */
    private static String nameOf(Exception error) {
        String name = error.getClass().getSimpleName();
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof KafkaException) {
                name = each.getClass().getSimpleName();
            }
        }
        return name;
    }

    private Object carryOut(JsonNode asked) throws Exception {
        String name = asked.path("name").asText();
        switch (asked.get("do").asText()) {
            case "version":
                return AppInfoParser.getVersion();
            case "producer":
                producers.put(name, producer(asked.get("id"), asked.path("timeout_ms").asInt(60_000)));
                return null;
            case "begin":
                producers.get(name).beginTransaction();
                return null;
            case "send":
                send(producers.get(name), asked);
                return null;
            case "commit":
                producers.get(name).commitTransaction();
                return null;
            case "abort":
                producers.get(name).abortTransaction();
                return null;
            case "reader":
                readers.put(name, reader(asked.get("group"), asked.get("topic"), asked.get("isolation").asText()));
                return null;
            case "read":
                return values(read(readers.get(name), asked.get("count").asInt(), asked.get("within_ms").asLong()));
            case "committed":
                return committed(asked);
            case "copier":
                copiers.put(name, copier(asked));
                return null;
            case "copy":
                copiers.get(name).copy(asked.get("count").asInt(), asked.get("ends").asText().equals("commit"));
                return null;
            case "loop":
                copiers.get(name).loop();
                return null;
            default:
                throw new IllegalArgumentException(asked.get("do").asText() + " is no step");
        }
    }

    // ---------------------------------------------------------------- transactions

    /** One without an id (null) has no transactions. */
    private KafkaProducer<String, String> producer(JsonNode id, int timeoutMs) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("linger.ms", 0);
        if (!id.isNull()) {
            configs.put("transactional.id", id.asText());
            configs.put("transaction.timeout.ms", timeoutMs);
        }
        KafkaProducer<String, String> made =
                new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
        if (!id.isNull()) {
            made.initTransactions();
        }
        return made;
    }

    private static void send(KafkaProducer<String, String> producer, JsonNode asked) throws Exception {
        int partition = asked.get("partition").asInt();
        try {
            producer.send(new ProducerRecord<>(
                            asked.get("topic").asText(), partition, null, asked.get("value").asText()))
                    .get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    // ---------------------------------------------------------------- reading

    private KafkaConsumer<String, String> reader(JsonNode group, JsonNode topic, String isolation) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("group.id", group.asText());
        configs.put("isolation.level", isolation);
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", false);
        configs.put("fetch.max.wait.ms", 200);
        configs.put("max.poll.records", 1);
        // Brokers say how long members of the new protocol may be silent; in the old one each says it itself.
        String protocol = System.getProperty("group.protocol", "classic");
        configs.put("group.protocol", protocol);
        if (protocol.equals("classic")) {
            configs.put("session.timeout.ms", 2_000);
            configs.put("heartbeat.interval.ms", 500);
        }
        KafkaConsumer<String, String> made =
                new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
        made.subscribe(List.of(topic.asText()));
        return made;
    }

    static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> reader, int count, long withinMs) {
        long until = System.nanoTime() + Duration.ofMillis(withinMs).toNanos();
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        while (found.size() < count && System.nanoTime() < until) {
            reader.poll(Duration.ofMillis(Math.min(withinMs, 100))).forEach(found::add);
        }
        return found;
    }

    private static List<String> values(List<ConsumerRecord<String, String>> records) {
        List<String> values = new ArrayList<>();
        records.forEach(each -> values.add(each.value()));
        return values;
    }

    private Long committed(JsonNode asked) throws Exception {
        TopicPartition of = new TopicPartition(
                asked.get("topic").asText(), asked.get("partition").asInt());
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            OffsetAndMetadata told = admin.listConsumerGroupOffsets(asked.get("group").asText())
                    .partitionsToOffsetAndMetadata()
                    .get()
                    .get(of);
            return told == null ? null : told.offset();
        }
    }

    // ---------------------------------------------------------------- copying

    private Copier copier(JsonNode asked) {
        KafkaProducer<String, String> producer = producer(asked.get("id"), 60_000);
        return new Copier(
                reader(asked.get("group"), asked.get("source"), "read_committed"),
                producer,
                asked.get("target").asText());
    }

    /** Copies each batch, with the offsets behind it, in a transaction. */
    private static final class Copier {
        private static final long PATIENCE_MS = 30_000;

        private final KafkaConsumer<String, String> reader;
        private final KafkaProducer<String, String> producer;
        private final String target;

        Copier(KafkaConsumer<String, String> reader, KafkaProducer<String, String> producer, String target) {
            this.reader = reader;
            this.producer = producer;
            this.target = target;
        }

        void copy(int count, boolean commits) {
            List<ConsumerRecord<String, String>> found = read(reader, count, PATIENCE_MS);
            if (found.size() < count) {
                throw new IllegalStateException(count - found.size() + " of " + count + " records did not come");
            }
            open(found);
            if (commits) {
                producer.commitTransaction();
            } else {
                abort();
            }
        }

        /** Ends with what the client says is fatal: then it cannot abort either. */
        void loop() throws Exception {
            while (true) {
                List<ConsumerRecord<String, String>> found = new ArrayList<>(read(reader, 1, 1_000));
                if (found.isEmpty()) {
                    continue;
                }
                found.addAll(read(reader, 4, 20));
                try {
                    open(found);
                    producer.commitTransaction();
                } catch (KafkaException error) {
                    abort();
                    continue;
                }
                tell(Map.of("copied", found.size()));
            }
        }

        private void open(List<ConsumerRecord<String, String>> found) {
            Map<TopicPartition, OffsetAndMetadata> behind = new HashMap<>();
            producer.beginTransaction();
            for (ConsumerRecord<String, String> each : found) {
                producer.send(new ProducerRecord<>(target, each.partition(), null, "copy of " + each.value()));
                behind.put(
                        new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            producer.sendOffsetsToTransaction(behind, reader.groupMetadata());
        }

        /** Nothing was copied, and reading goes on at what is committed. */
        private void abort() {
            producer.abortTransaction();
            reader.committed(reader.assignment()).forEach((partition, offset) -> {
                if (offset == null) {
                    reader.seekToBeginning(Collections.singleton(partition));
                } else {
                    reader.seek(partition, offset);
                }
            });
        }
    }
}
