// Package secure makes the keys, certificates, accounts and configurations with which the bus of a cluster knows who connects, and what each may
// do. It uses what NATS brings: an operator whose signing key signs accounts, and for each role a signing key of the account whose scope has the
// permissions of the role (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/jwt). It writes no files.
package secure
