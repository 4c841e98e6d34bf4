import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Copies topic "input" to topic "output" with a Flink job in a MiniCluster until it is killed.
 *
 * <p>Arguments: bootstrap servers, the delivery guarantee and the transaction naming strategy of the sink, and a folder
 * for checkpoints. A job starts from the newest complete checkpoint in the folder.
 */
public final class FlinkCopies {
    private static final int PARALLELISM = 2;

    private FlinkCopies() {}

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        Path folder = Path.of(arguments[3]);
        Configuration configs = new Configuration();
        configs.setString("execution.checkpointing.interval", "2 s");
        configs.setString("execution.checkpointing.dir", folder.toUri().toString());
        configs.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        configs.setString("restart-strategy.type", "fixed-delay");
        configs.setString("restart-strategy.fixed-delay.attempts", "1000");
        configs.setString("restart-strategy.fixed-delay.delay", "500 ms");
        newestCheckpoint(folder).ifPresent(
                path -> configs.setString("execution.state-recovery.path", path.toUri().toString()));
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, configs);
        KafkaSource<String> source = KafkaSource.<String>builder()
                .setBootstrapServers(bootstrap)
                .setTopics("input")
                .setGroupId("copies")
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setProperty("isolation.level", "read_committed")
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
                .setBootstrapServers(bootstrap)
                .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                        .setTopic("output")
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .setDeliveryGuarantee(DeliveryGuarantee.valueOf(arguments[1]))
                .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(arguments[2]))
                .setTransactionalIdPrefix("copies")
                .setProperty("transaction.timeout.ms", "600000")
                .build();
        environment
                .fromSource(source, WatermarkStrategy.noWatermarks(), "input")
                .uid("input")
                .sinkTo(sink)
                .uid("output");
        environment.execute("copies");
    }

    /** A checkpoint is complete when its metadata is written. */
    private static Optional<Path> newestCheckpoint(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.endsWith("_metadata"))
                    .max(Comparator.comparingLong(file -> file.toFile().lastModified()))
                    .map(Path::getParent);
        }
    }
}
