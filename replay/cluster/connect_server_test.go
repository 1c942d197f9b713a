package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// authority signs certificates.
type authority struct {
	dir, file string // where its certificates go, and its own
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.file, _, a.key = a.sign(t, "authority", a.cert)
	return a
}

// sign makes a certificate, and a key for it. Without dates it is valid today.
func (a *authority) sign(t *testing.T, name string, cert *x509.Certificate) (certFile, keyFile string, key *ecdsa.PrivateKey) {
	t.Helper()
	if cert.NotAfter.IsZero() {
		cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	cert.SerialNumber = serial
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key // its own
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile = write(t, filepath.Join(a.dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keyFile = write(t, filepath.Join(a.dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return certFile, keyFile, key
}

// forServers is a certificate of the servers that tests start, forClients one of clients.
func forServers() *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func forClients() *x509.Certificate {
	return &x509.Certificate{
		Subject:  pkix.Name{CommonName: "worker"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// on is a certificate of another day.
func on(day time.Time, cert *x509.Certificate) *x509.Certificate {
	cert.NotBefore, cert.NotAfter = day.Add(-time.Hour), day.Add(time.Hour)
	return cert
}

func write(t *testing.T, file string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// withTLS is the configuration of a server that shows a certificate; where it is told of an
// authority it wants to see one that this has signed.
func withTLS(cert, key, clients string) string {
	config := fmt.Sprintf("tls { cert_file: %q, key_file: %q", cert, key)
	if clients != "" {
		config += fmt.Sprintf(", ca_file: %q, verify: true", clients)
	}
	return config + " }\n"
}

// way is a way to connect, and what the error must say where it does not lead in.
type way struct {
	name    string
	options Options
	want    []string // none where it leads in
	secret  string   // what no error may say
}

// take takes ways to the same server.
func take(t *testing.T, url string, ways []way) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if w.options.URL == "" {
				w.options.URL = url
			}
			c, err := Connect(t.Context(), w.options)
			if err == nil {
				_, notEncrypted := c.conn.TLSConnectionState()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if wantsTLS := strings.HasPrefix(url, "tls://"); wantsTLS != (notEncrypted == nil) {
					t.Errorf("encrypted: %v; want %t", notEncrypted, wantsTLS)
				}
				if len(w.want) > 0 {
					t.Fatalf("it is let in; want %q", w.want)
				}
				return
			}
			if len(w.want) == 0 {
				t.Fatal(err)
			}
			for _, want := range append(w.want, w.options.URL) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q", err, want)
				}
			}
			if w.secret != "" && strings.Contains(err.Error(), w.secret) {
				t.Errorf("%v: it tells the secret", err)
			}
		})
	}
}

func TestConnectByTLS(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	cert, key, _ := ours.sign(t, "server", forServers())
	url := clustertest.Configured(t, 1, withTLS(cert, key, ""))
	plain := strings.Replace(url.URL, "tls://", "nats://", 1)
	missing := filepath.Join(t.TempDir(), "missing.pem")
	take(t, url.URL, []way{
		{name: "right authority", options: Options{CA: ours.file}},
		{name: "right authority, nats address", options: Options{CA: ours.file, URL: plain}},
		{name: "no authority", want: []string{"no authority that this machine trusts", "--cluster-ca (config: cluster.ca)"}},
		{name: "no authority, nats address", options: Options{URL: plain}, want: []string{"no authority that this machine trusts", "--cluster-ca (config: cluster.ca)"}},
		{name: "other authority", options: Options{CA: other.file}, want: []string{"no authority in " + other.file, "--cluster-ca (config: cluster.ca)"}},
		{name: "no file", options: Options{CA: missing}, want: []string{missing, "--cluster-ca (config: cluster.ca)"}},
		{name: "no certificate", options: Options{CA: key}, want: []string{key, "--cluster-ca (config: cluster.ca)"}},
	})
}

func TestConnectToServersWithWrongCertificates(t *testing.T) {
	ours := newAuthority(t, "ours")
	elsewhere := forServers()
	elsewhere.IPAddresses, elsewhere.DNSNames = nil, []string{"elsewhere.test"}
	misused := forServers()
	misused.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for name, test := range map[string]struct {
		cert *x509.Certificate
		want []string
	}{
		"other host":  {elsewhere, []string{"is for other names", "--cluster (config: cluster.url)"}},
		"expired":     {on(time.Now().AddDate(0, 0, -2), forServers()), []string{"has expired", "give the server a new one"}},
		"for clients": {misused, []string{"is not in order", "give the server another one"}},
	} {
		cert, key, _ := ours.sign(t, name, test.cert)
		take(t, clustertest.Configured(t, 1, withTLS(cert, key, "")).URL, []way{{name: name, options: Options{CA: ours.file}, want: test.want}})
	}
}

func TestConnectByTLSToAServerWithout(t *testing.T) {
	ours := newAuthority(t, "ours")
	cert, key, _ := ours.sign(t, "worker", forClients())
	url := clustertest.Servers(t, 1)
	take(t, url, []way{
		{name: "authority", options: Options{CA: ours.file}, want: []string{"does not speak TLS", "--cluster-ca"}},
		{name: "certificate", options: Options{Cert: cert, Key: key}, want: []string{"does not speak TLS", "--cluster-cert"}},
		{name: "address", options: Options{URL: strings.Replace(url, "nats://", "tls://", 1)}, want: []string{"does not speak TLS", "tls://"}},
	})
}

func TestConnectByTLSOfBothSides(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	serverCert, serverKey, _ := ours.sign(t, "server", forServers())
	cert, key, _ := ours.sign(t, "worker", forClients())
	past := time.Now().AddDate(0, 0, -2)
	expired, expiredKey, _ := ours.sign(t, "expired", on(past, forClients()))
	early, earlyKey, _ := ours.sign(t, "early", on(time.Now().AddDate(0, 0, 2), forClients()))
	strange, strangeKey, _ := other.sign(t, "strange", forClients())
	missing := filepath.Join(t.TempDir(), "missing.pem")
	const set = "--cluster-cert and --cluster-key (config: cluster.cert and cluster.key)"
	take(t, clustertest.Configured(t, 1, withTLS(serverCert, serverKey, ours.file)).URL, []way{
		{name: "right", options: Options{CA: ours.file, Cert: cert, Key: key}},
		{name: "none", options: Options{CA: ours.file}, want: []string{"wants to see a certificate", set}},
		{name: "no authority", options: Options{Cert: cert, Key: key}, want: []string{"no authority that this machine trusts", "--cluster-ca (config: cluster.ca)"}},
		{name: "no key", options: Options{CA: ours.file, Cert: cert}, want: []string{cert, `its key ""`, set}},
		{name: "key alone", options: Options{CA: ours.file, Key: key}, want: []string{`certificate ""`, key, set}},
		{name: "missing", options: Options{CA: ours.file, Cert: missing, Key: key}, want: []string{missing, set}},
		{name: "key of another", options: Options{CA: ours.file, Cert: cert, Key: expiredKey}, want: []string{cert, expiredKey, set}},
		{name: "files the wrong way round", options: Options{CA: ours.file, Cert: key, Key: cert}, want: []string{cert, key, set}},
		{name: "expired", options: Options{CA: ours.file, Cert: expired, Key: expiredKey}, want: []string{expired + " expired on " + past.Add(time.Hour).UTC().Format(time.DateOnly), set}},
		{name: "not valid yet", options: Options{CA: ours.file, Cert: early, Key: earlyKey}, want: []string{early + " is valid from", "clock"}},
		{name: "of another authority", options: Options{CA: ours.file, Cert: strange, Key: strangeKey}, want: []string{"accept the certificate " + strange, set}},
		{name: "for servers", options: Options{CA: ours.file, Cert: serverCert, Key: serverKey}, want: []string{"accept the certificate " + serverCert, set}},
	})
}

func TestConnectByUserAndPassword(t *testing.T) {
	const user, password, wrong = "worker", "correct-horse", "battery-staple"
	const set = "DOUBLETAKE_CLUSTER_USER and DOUBLETAKE_CLUSTER_PASSWORD"
	url := clustertest.Configured(t, 1, fmt.Sprintf("authorization { user: %s, password: %s }\n", user, password)).URL
	creds := newAccount(t, newOperator(t)).user(t, "worker", nil)
	take(t, url, []way{
		{name: "right", options: Options{User: user, Password: password}},
		{name: "wrong password", options: Options{User: user, Password: wrong}, want: []string{`the user "worker"`, set}, secret: wrong},
		{name: "wrong user", options: Options{User: "boss", Password: password}, want: []string{`the user "boss"`, set}, secret: password},
		{name: "no password", options: Options{User: user}, want: []string{`the user "worker"`, set}},
		{name: "none", want: []string{"wants to know who it is", "--cluster-creds (config: cluster.credentials)", set}},
		{name: "credentials", options: Options{Credentials: creds, User: user, Password: password}, want: []string{creds, "--cluster-creds (config: cluster.credentials)"}, secret: password},
	})
}

// account is an account of an operator.
type account struct {
	key        nkeys.KeyPair
	name, text string // its public key, and what the operator says of it
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	name, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, name
}

func newOperator(t *testing.T) nkeys.KeyPair {
	t.Helper()
	key, _ := newKey(t, nkeys.CreateOperator)
	return key
}

// newAccount makes an account, with limits as changed.
func newAccount(t *testing.T, operator nkeys.KeyPair, change ...func(*jwt.AccountClaims)) *account {
	t.Helper()
	a := new(account)
	a.key, a.name = newKey(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(a.name)
	for _, do := range change {
		do(claims)
	}
	var err error
	if a.text, err = claims.Encode(operator); err != nil {
		t.Fatal(err)
	}
	return a
}

// streaming lets an account use JetStream.
func streaming(claims *jwt.AccountClaims) {
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
}

// user writes the credentials file of a new user.
func (a *account) user(t *testing.T, name string, change func(*jwt.UserClaims)) string {
	t.Helper()
	key, public := newKey(t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(public)
	if change != nil {
		change(claims)
	}
	text, err := claims.Encode(a.key)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := jwt.FormatUserConfig(text, seed)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), name+".creds"), data)
}

// byOperator is the configuration of a server that knows accounts of an operator.
func byOperator(t *testing.T, operator nkeys.KeyPair, accounts ...*account) string {
	t.Helper()
	name, err := operator.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.NewOperatorClaims(name)
	claims.SystemAccount = accounts[0].name
	text, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("operator: %q\nresolver: MEMORY\nresolver_preload: {\n", text)
	for _, a := range accounts {
		config += fmt.Sprintf("  %s: %q\n", a.name, a.text)
	}
	return config + "}\n"
}

func TestConnectByCredentials(t *testing.T) {
	operator := newOperator(t)
	system, ours, theirs, poor := newAccount(t, operator), newAccount(t, operator, streaming), newAccount(t, operator, streaming), newAccount(t, operator)
	url := clustertest.Configured(t, 1, byOperator(t, operator, system, ours, theirs, poor)).URL
	right := ours.user(t, "right", nil)
	unknown := newAccount(t, operator, streaming).user(t, "unknown", nil)
	foreign := newAccount(t, newOperator(t), streaming).user(t, "foreign", nil)
	expired := ours.user(t, "expired", func(c *jwt.UserClaims) { c.Expires = time.Now().Add(-time.Hour).Unix() })
	text, err := os.ReadFile(right)
	if err != nil {
		t.Fatal(err)
	}
	token, seed, ok := strings.Cut(string(text), "-----BEGIN USER NKEY SEED-----")
	if !ok {
		t.Fatal("the credentials have another form now")
	}
	seed = strings.Split(seed, "\n")[1]
	dir := t.TempDir()
	missing, noSeed := filepath.Join(dir, "missing.creds"), write(t, filepath.Join(dir, "no-seed.creds"), []byte(token))
	badSeed := write(t, filepath.Join(dir, "bad-seed.creds"), []byte(strings.Replace(string(text), seed, seed[:len(seed)-1], 1)))
	const set = "--cluster-creds (config: cluster.credentials)"
	take(t, url, []way{
		{name: "right", options: Options{Credentials: right}},
		{name: "right, beside a user", options: Options{Credentials: right, User: "worker", Password: "secret"}},
		{name: "of an account that the server does not know", options: Options{Credentials: unknown}, want: []string{"accept the credentials " + unknown, set}},
		{name: "of another operator", options: Options{Credentials: foreign}, want: []string{"accept the credentials " + foreign, set}},
		{name: "expired", options: Options{Credentials: expired}, want: []string{"accept the credentials " + expired, "expired", set}},
		{name: "of an account without JetStream", options: Options{Credentials: poor.user(t, "poor", nil)}, want: []string{"does the account allow JetStream?"}},
		{name: "none", want: []string{"wants to know who it is", set}},
		{name: "user", options: Options{User: "worker", Password: "battery-staple"}, want: []string{`the user "worker"`}, secret: "battery-staple"},
		{name: "missing", options: Options{Credentials: missing}, want: []string{missing, set}},
		{name: "no seed", options: Options{Credentials: noSeed}, want: []string{noSeed, set}},
		{name: "broken seed", options: Options{Credentials: badSeed}, want: []string{badSeed, set}, secret: seed[:20]},
	})
	t.Run("accounts do not see each other", func(t *testing.T) {
		apart(t, Options{URL: url, Credentials: right}, Options{URL: url, Credentials: theirs.user(t, "theirs", nil)})
	})
}

func TestPrefixesDoNotSeeEachOther(t *testing.T) {
	url := clustertest.Servers(t, 1)
	apart(t, Options{URL: url, Prefix: "team.one"}, Options{URL: url, Prefix: "team.two"})
	take(t, url, []way{
		{name: "names of streams have no dots", options: Options{Prefix: "team_one"}, want: []string{"team_one_jobs is there", "team.one.jobs", "--cluster-prefix (config: cluster.prefix)"}},
		{name: "one's subjects among the other's", options: Options{Prefix: "team.one.jobs.x"}, want: []string{"overlap", "--cluster-prefix (config: cluster.prefix)"}},
	})
}

// apart plays the same run under both, each with a worker of its own: what one side queues,
// answers and stores is not the other's.
func apart(t *testing.T, first, second Options) {
	t.Helper()
	sides := map[string]*Cluster{"first": one(t, first), "second": one(t, second)}
	leaders := map[string]*Leader{}
	for side, c := range sides {
		leaders[side] = lead(t, c, "a run")
		if err := c.Answers().Put(t.Context(), "id", []byte(side)); err != nil {
			t.Fatal(err)
		}
	}
	for side, c := range sides {
		if data, err := c.Answers().Get(t.Context(), "id"); err != nil || string(data) != side {
			t.Errorf("%s: the answer is %q, %v", side, data, err)
		}
		status, err := c.Status(t.Context())
		if err != nil || len(status.Runs) != 1 || len(status.Workers) != 0 {
			t.Errorf("%s: %+v, %v", side, status, err)
		}
		end := background(t, c, Worker{Name: side, Slots: 1, Open: playing(func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
			e, err := played(ctx, key)
			e.Reason = side
			return e, err
		})})
		defer func() {
			if err := errors.Join(leaders[side].Close(t.Context()), end()); err != nil {
				t.Error(err)
			}
		}()
	}
	for i := range 10 {
		for side, l := range leaders {
			e, err := l.Play(t.Context(), jobOf(fmt.Sprint(i)))
			if err != nil || e.Status != replay.Played || e.Reason != side {
				t.Errorf("%s, %d: %+v, %v", side, i, e, err)
			}
		}
	}
}

func TestARunByTLSOfBothSidesWithAPassword(t *testing.T) {
	ours := newAuthority(t, "ours")
	serverCert, serverKey, _ := ours.sign(t, "server", forServers())
	cert, key, _ := ours.sign(t, "worker", forClients())
	config := withTLS(serverCert, serverKey, ours.file) + "authorization { user: worker, password: correct-horse }\n"
	options := Options{
		URL: clustertest.Configured(t, 1, config).URL, CA: ours.file, Cert: cert, Key: key, User: "worker", Password: "correct-horse",
	}
	take(t, options.URL, []way{{name: "no password", options: Options{CA: ours.file, Cert: cert, Key: key}, want: []string{"wants to know who it is", "--cluster-creds"}}})
	l := lead(t, one(t, options), "a run")
	end := background(t, one(t, options), Worker{Name: "one", Slots: 1, Open: playing(played)})
	job := jobOf("story")
	if e, err := l.Play(t.Context(), job); err != nil || e.Status != replay.Played || e.Key != job.Key {
		t.Errorf("%+v, %v", e, err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}
