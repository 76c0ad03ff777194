# Sets the passwords of the users in the brokers of docker-compose.cluster.yml. Connects as a broker, which may do
# everything. Changes nothing when the passwords are the same.
set -eu
cat > /tmp/broker.properties <<END
security.protocol=SSL
ssl.keystore.type=PKCS12
ssl.keystore.location=/run/brokers/kafka.p12
ssl.keystore.password=plant-store
ssl.truststore.type=PEM
ssl.truststore.location=/run/stores/authority.crt
default.api.timeout.ms=120000
END
for user in admin api projector plantctl; do
  echo "user $user"
  # In a file, because every user of the machine can read the arguments of a process.
  printf 'SCRAM-SHA-512=password=%s\n' "$(cat "/run/passwords/$user/password")" > /tmp/user.properties
  /opt/kafka/bin/kafka-configs.sh --bootstrap-server kafka:9094,kafka-2:9094,kafka-3:9094 \
    --command-config /tmp/broker.properties --alter --entity-type users --entity-name "$user" \
    --add-config-file /tmp/user.properties
done
