import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints features and settings of the release whose jars are on the class path: `java -cp 'JARS/*' KafkaRelease.java`. */
public class KafkaRelease {
    public static void main(String[] arguments) {
        MetadataVersion newest = MetadataVersion.LATEST_PRODUCTION;
        short oldest = MetadataVersion.MINIMUM_VERSION.featureLevel();
        System.out.printf("feature metadata.version %d %d %d%n", oldest, newest.featureLevel(), newest.featureLevel());
        for (Feature each : Feature.PRODUCTION_FEATURES) {
            System.out.printf("feature %s %d %d %d%n", each.featureName(), each.minimumProduction(),
                each.latestProduction(), each.defaultLevel(newest));
        }
        Map<String, ConfigDef.ConfigKey> settings = new TreeMap<>(kafka.server.KafkaConfig.configDef().configKeys());
        settings.forEach((name, key) -> {
            System.out.printf("setting %s %s%n", name, key.hasDefault() ? key.defaultValue : "");
        });
    }
}
