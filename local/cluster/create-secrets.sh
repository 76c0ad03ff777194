# The certificates of the brokers and the passwords of the users of docker-compose.cluster.yml, made at the first start:
# in /run/stores what clients need, in /run/passwords a directory for each user, in /run/brokers what only brokers may
# read. Runs in the image of Kafka, with its Java.
set -eu
cd /run/brokers
store() { keytool -storepass plant-store -storetype PKCS12 "$@" 2>&1; }
names=san=dns:kafka,dns:kafka-2,dns:kafka-3,dns:localhost,ip:127.0.0.1
key='-keyalg EC -groupname secp256r1 -validity 3650'

if [ ! -f /run/stores/authority.crt ]; then
  rm -f authority.p12 kafka.p12
  store -keystore authority.p12 -genkeypair -alias authority $key -dname CN=authority -ext bc:critical=ca:true
  store -keystore authority.p12 -exportcert -alias authority -rfc -file authority.crt
  store -keystore kafka.p12 -genkeypair -alias kafka $key -dname CN=kafka
  store -keystore kafka.p12 -certreq -alias kafka -file kafka.csr
  store -keystore authority.p12 -gencert -alias authority -validity 3650 -ext $names -rfc -infile kafka.csr -outfile kafka.crt
  store -keystore kafka.p12 -importcert -alias authority -noprompt -file authority.crt
  store -keystore kafka.p12 -importcert -alias kafka -noprompt -file kafka.crt
  cp authority.crt /run/stores/authority.crt # last: it says that all of them are there
fi
for user in admin api projector plantctl; do
  file=/run/passwords/$user/password
  [ -s "$file" ] || od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > "$file"
done
chown -R 1000:1000 /run/brokers /run/stores /run/passwords
chmod 400 /run/brokers/*.p12 /run/passwords/*/password
