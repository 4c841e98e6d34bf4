// What Kafka's Java client has and does. First the names of all settings of its producer and its consumer, in one line.
// Then it reads JAAS configurations, one in base64 a line on standard input; for each it prints one line: the class, the
// flag and the options as fields in base64 with spaces between, or "refused".
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

public class JavaClient {
    private static String field(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)) + ".";
    }

    public static void main(String[] words) throws Exception {
        TreeSet<String> names = new TreeSet<>(ProducerConfig.configNames());
        names.addAll(ConsumerConfig.configNames());
        System.out.println(String.join(" ", names));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            String text = new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
            try {
                JaasContext read = JaasContext.loadClientContext(Map.of("sasl.jaas.config", new Password(text)));
                AppConfigurationEntry entry = read.configurationEntries().get(0);
                StringBuilder found = new StringBuilder(field(entry.getLoginModuleName()));
                found.append(' ').append(field(entry.getControlFlag().toString()));
                for (Map.Entry<String, ?> option : new TreeMap<String, Object>(entry.getOptions()).entrySet())
                    found.append(' ').append(field(option.getKey())).append(' ').append(field((String) option.getValue()));
                System.out.println(found);
            } catch (RuntimeException error) {
                System.out.println("refused");
            }
        }
    }
}
