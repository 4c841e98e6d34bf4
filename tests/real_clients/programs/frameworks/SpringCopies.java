import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.transaction.KafkaTransactionManager;

/**
 * Copies topic "input" to topic "output" with Spring Kafka until it is killed.
 *
 * <p>Arguments: bootstrap servers, and whether the listener containers run in transactions ("true" or "false"). Each
 * batch of the listener is one transaction. It takes about a second, so a kill finds an open one.
 */
public final class SpringCopies {
    private static final long PAUSE_MS = 50;

    private SpringCopies() {}

    public static void main(String[] arguments) {
        Map<String, Object> producers = new HashMap<>();
        producers.put("bootstrap.servers", arguments[0]);
        DefaultKafkaProducerFactory<String, String> factory =
                new DefaultKafkaProducerFactory<>(producers, new StringSerializer(), new StringSerializer());
        ContainerProperties listener = new ContainerProperties("input");
        listener.setGroupId("copies");
        if (Boolean.parseBoolean(arguments[1])) {
            factory.setTransactionIdPrefix("copies-");
            listener.setKafkaAwareTransactionManager(new KafkaTransactionManager<>(factory));
        }
        KafkaTemplate<String, String> template = new KafkaTemplate<>(factory);
        listener.setMessageListener((BatchMessageListener<String, String>) records -> {
            for (ConsumerRecord<String, String> record : records) {
                template.send("output", record.partition(), null, record.value()).join();
                pause();
            }
        });
        Map<String, Object> consumers = new HashMap<>();
        consumers.put("bootstrap.servers", arguments[0]);
        consumers.put("isolation.level", "read_committed");
        consumers.put("auto.offset.reset", "earliest");
        consumers.put("session.timeout.ms", 2_000);
        consumers.put("heartbeat.interval.ms", 500);
        consumers.put("max.poll.records", 20);
        ConcurrentMessageListenerContainer<String, String> container = new ConcurrentMessageListenerContainer<>(
                new DefaultKafkaConsumerFactory<>(consumers, new StringDeserializer(), new StringDeserializer()), listener);
        container.setConcurrency(2);
        container.start();
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
