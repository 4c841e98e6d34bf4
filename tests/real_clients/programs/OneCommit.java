import java.io.InputStream;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Commits one transaction, aborts another, and reads what was committed, with any Java client since 0.11.
 *
 * <p>Arguments: bootstrap servers, topic. Prints the version of the client and the values that were read.
 */
public final class OneCommit {
    private OneCommit() {}

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1];
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("transactional.id", "one-commit");
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        for (String value : new String[] {"aborted", "committed"}) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, value)).get();
            if (value.equals("committed")) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
        producer.close();
        configs.remove("transactional.id");
        configs.put("group.id", "one-commit");
        configs.put("isolation.level", "read_committed");
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", false);
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Collections.singletonList(topic));
        List<String> read = new ArrayList<>();
        long until = System.nanoTime() + 30_000_000_000L;
        while (read.isEmpty() && System.nanoTime() < until) {
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                read.add(record.value());
            }
        }
        consumer.commitSync();
        System.out.println(version() + " " + String.join(",", read));
        System.exit(0);
    }

    private static String version() throws Exception {
        Properties properties = new Properties();
        try (InputStream in = KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    /** Since 2.0 a poll is told how long it may take by a Duration, and since 4.0 by nothing else. */
    @SuppressWarnings("unchecked")
    private static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) throws Exception {
        Method poll;
        Object patience;
        try {
            poll = KafkaConsumer.class.getMethod("poll", Duration.class);
            patience = Duration.ofMillis(500);
        } catch (NoSuchMethodException error) {
            poll = KafkaConsumer.class.getMethod("poll", long.class);
            patience = 500L;
        }
        return (ConsumerRecords<String, String>) poll.invoke(consumer, patience);
    }
}
