package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say where the cluster is and how it is used.
type Options struct {
	// URL is one address of a server or several with commas between, without user and
	// password.
	URL string
	// Prefix begins the subjects, and with _ in place of dots the names of streams and
	// buckets; empty means [DefaultPrefix].
	Prefix string
	// Credentials is a file with a user's JWT and seed; CA, Cert and Key are PEM files. The
	// connection is encrypted where one of the three is given, where the address begins with
	// tls:// and where the server wants it so. Empty for none.
	Credentials, CA, Cert, Key string
	// User and Password sign in where there is no credentials file.
	User, Password string
	// Replicas is how many servers keep each stream; 0 means three, or one where the
	// server is no cluster.
	Replicas int
	// AckWait is how long a job may go without a sign of life before another worker gets
	// it; 0 means [DefaultAckWait]. All that share a prefix use that of the first.
	AckWait time.Duration
	// MaxDeliver is how often a job is given to a worker before it is put on the list of
	// dead letters; 0 means [DefaultMaxDeliver].
	MaxDeliver int
	// Look joins what is there and makes nothing; where nothing is there the error is
	// [ErrNothing].
	Look bool
}

// ErrNothing says that there are no streams under a prefix.
var ErrNothing = errors.New("there is nothing under the cluster's prefix")

// The defaults of [Options].
const (
	DefaultPrefix     = "doubletake"
	DefaultAckWait    = 30 * time.Second
	DefaultMaxDeliver = 5
	defaultReplicas   = 3
)

const (
	// keepData is how long runs, results and blobs stay, keepAnswers how long answers do,
	// keepLarge how long large objects do, which are to outlive the keys that name them.
	keepData    = 7 * 24 * time.Hour
	keepAnswers = 30 * 24 * time.Hour
	keepLarge   = keepAnswers + keepData
	connectWait = 20 * time.Second
)

// RenewEvery is how often a leader stores anew what workers that begin late need, such as
// the files of the set: the cluster keeps it for days, and a run may last longer.
const RenewEvery = 24 * time.Hour

// Cluster is a connection with the stream and the buckets of a prefix.
type Cluster struct {
	options Options
	conn    *nats.Conn
	js      jetstream.JetStream
	jobs    jetstream.Stream
	// data holds runs, results, blobs, limits and dead letters; answers the answers of
	// models; live what goes when its owner does; large what does not fit a message.
	data, answers, live jetstream.KeyValue
	large               jetstream.ObjectStore
	keepLarge           time.Duration // how long that keeps objects; 0 is for ever
	encoder             *zstd.Encoder
	decoder             *zstd.Decoder
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Connect reaches the cluster, and makes its stream and buckets where they are not there
// yet.
func Connect(ctx context.Context, options Options) (*Cluster, error) {
	options.Prefix = cmp.Or(options.Prefix, DefaultPrefix)
	options.AckWait = cmp.Or(options.AckWait, DefaultAckWait)
	options.MaxDeliver = cmp.Or(options.MaxDeliver, DefaultMaxDeliver)
	if err := CheckPrefix(options.Prefix); err != nil {
		return nil, err
	}
	if err := CheckAddresses(options.URL); err != nil {
		return nil, err
	}
	c := &Cluster{options: options}
	var err error
	if c.encoder, err = zstd.NewWriter(nil); err == nil {
		c.decoder, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxUnpacked))
	}
	if err != nil {
		return nil, err
	}
	var asked atomic.Bool
	dial, err := options.dial(&asked)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster %s: %w", options.URL, err)
	}
	if c.conn, err = nats.Connect(options.URL, dial...); err != nil {
		return nil, fmt.Errorf("connecting to the cluster %s: %w; %s", options.URL, err, options.advice(err, asked.Load()))
	}
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	if c.js, err = jetstream.New(c.conn); err == nil {
		err = c.prepare(ctx)
	}
	if errors.Is(err, ErrNothing) {
		err = fmt.Errorf("%w %q at %s: no run and no worker was there yet%s; name another one with --cluster-prefix (config: cluster.prefix)", ErrNothing, options.Prefix, options.URL, c.others(ctx))
		c.conn.Close()
		return nil, err
	}
	if err != nil {
		c.conn.Close()
		return nil, fmt.Errorf("preparing the streams of %s at %s: %w; %s", options.Prefix, options.URL, err, prepareAdvice(err))
	}
	return c, nil
}

// CheckPrefix refuses what no subject can begin with.
func CheckPrefix(prefix string) error {
	if !prefixPattern.MatchString(prefix) {
		return fmt.Errorf("cluster prefix %q: want letters, digits, _ and -, with dots between", prefix)
	}
	return nil
}

// CheckAddresses refuses, of a list with commas between, what is no address of a server, and
// one that holds a secret: the address stands in messages.
func CheckAddresses(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		address, err := url.Parse(strings.TrimSpace(text))
		switch {
		case err != nil:
			return errors.New("the cluster's address is no URL; want nats://host:4222")
		case address.User != nil:
			return errors.New("the cluster's address holds a user or a password; give a credentials file, or DOUBLETAKE_CLUSTER_USER and DOUBLETAKE_CLUSTER_PASSWORD in the environment")
		case address.Host == "" || address.Scheme != "nats" && address.Scheme != "tls":
			return fmt.Errorf("the cluster's address %q is no nats:// or tls:// address", text)
		}
	}
	return nil
}

// What the options are called where they are set.
const (
	setCredentials = "--cluster-creds (config: cluster.credentials)"
	setCA          = "--cluster-ca (config: cluster.ca)"
	setCert        = "--cluster-cert and --cluster-key (config: cluster.cert and cluster.key)"
	setUser        = "DOUBLETAKE_CLUSTER_USER and DOUBLETAKE_CLUSTER_PASSWORD in the environment"
)

// dial is how the servers are reached. It reads the files once, to tell what is wrong with
// them. Asked becomes true when a server wants to see a certificate, which it does once it
// has shown a good one of its own.
func (o *Options) dial(asked *atomic.Bool) ([]nats.Option, error) {
	secure := tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked.Store(true)
		return o.certificate()
	}}
	list := []nats.Option{
		nats.Name("doubletake"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.Timeout(5 * time.Second),
		func(to *nats.Options) error { to.TLSConfig = &secure; return nil },
	}
	var read nats.Options
	switch {
	case o.Credentials != "":
		option := nats.UserCredentials(o.Credentials)
		err := option(&read)
		if err == nil {
			_, err = read.UserJWT()
		}
		if err == nil {
			_, err = read.SignatureCB(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the credentials %s: %w; %s names a file with the JWT and the seed of a user", o.Credentials, err, setCredentials)
		}
		list = append(list, option)
	case o.User != "":
		list = append(list, nats.UserInfo(o.User, o.Password))
	}
	if o.CA != "" {
		option := nats.RootCAs(o.CA)
		if err := option(&read); err != nil {
			return nil, fmt.Errorf("reading the authority's certificate %s: %w; %s names a PEM file", o.CA, err, setCA)
		}
		list = append(list, option)
	}
	if o.Cert != "" || o.Key != "" {
		if _, err := o.certificate(); err != nil {
			return nil, err
		}
		list = append(list, nats.Secure())
	}
	return list, nil
}

// certificate reads what is shown to servers that ask, anew for each connection; it is
// empty where there is none.
func (o *Options) certificate() (*tls.Certificate, error) {
	if o.Cert == "" && o.Key == "" {
		return new(tls.Certificate), nil
	}
	cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %q and its key %q: %w; %s name PEM files", o.Cert, o.Key, err, setCert)
	}
	return &cert, nil
}

// advice says what to do about a connection that failed; asked is [Options.dial]'s.
func (o *Options) advice(err error, asked bool) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Sprintf("the server does not speak TLS: turn it on there, or begin the address with nats:// and leave out %s, and %s", setCA, setCert)
	case errors.As(err, &authority) && o.CA == "":
		return fmt.Sprintf("no authority that this machine trusts has signed the server's certificate: give the PEM file of the one that has with %s", setCA)
	case errors.As(err, &authority):
		return fmt.Sprintf("no authority in %s has signed the server's certificate: give the PEM file of the one that has with %s", o.CA, setCA)
	case errors.As(err, &host):
		return "the server's certificate is for other names: use one of them in --cluster (config: cluster.url), or give the server a certificate for this one"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet: give the server a new one, if this machine's clock is right"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the server's certificate is not in order: give the server another one"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired), errors.Is(err, nats.ErrNkeysNotSupported):
		return o.signInAdvice()
	case asked && o.Cert == "":
		return fmt.Sprintf("the server wants to see a certificate: give the PEM files of one and its key with %s", setCert)
	case asked:
		return o.certificateAdvice()
	}
	return "is a NATS server with JetStream running there?"
}

// signInAdvice is for servers that know nobody by what they were told.
func (o *Options) signInAdvice() string {
	switch {
	case o.Credentials != "":
		return fmt.Sprintf("the server does not accept the credentials %s: give those of a user whom it knows, not expired and not revoked, with %s", o.Credentials, setCredentials)
	case o.User != "":
		return fmt.Sprintf("the server does not know the user %q with that password: set %s", o.User, setUser)
	}
	return fmt.Sprintf("the server wants to know who it is: give a credentials file with %s, or set %s", setCredentials, setUser)
}

// certificateAdvice is for servers that leave when they have seen our certificate.
func (o *Options) certificateAdvice() string {
	cert, err := o.certificate()
	if err == nil && cert.Leaf != nil {
		switch now := time.Now(); {
		case now.After(cert.Leaf.NotAfter):
			return fmt.Sprintf("the certificate %s expired on %s: give another one with %s", o.Cert, cert.Leaf.NotAfter.Format(time.DateTime), setCert)
		case now.Before(cert.Leaf.NotBefore):
			return fmt.Sprintf("the certificate %s is valid from %s on: is this machine's clock right?", o.Cert, cert.Leaf.NotBefore.Format(time.DateTime))
		}
	}
	return fmt.Sprintf("the server does not seem to accept the certificate %s: give one for clients that an authority has signed which the server trusts, with %s", o.Cert, setCert)
}

// jobsDescription is what the streams of jobs are described as.
const jobsDescription = "episodes to be played"

// others says which prefixes are in use, as far as that can be told.
func (c *Cluster) others(ctx context.Context) string {
	const jobs, most, wait = ".jobs.>", 10, 2 * time.Second // who may not ask gets no answer
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var list []string
	for info := range c.js.ListStreams(ctx).Info() {
		if of := info.Config; of.Description == jobsDescription && len(of.Subjects) == 1 && strings.HasSuffix(of.Subjects[0], jobs) {
			list = append(list, strings.TrimSuffix(of.Subjects[0], jobs))
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	if len(list) > most {
		list = append(list[:most], "...")
	}
	return " (in use: " + strings.Join(list, ", ") + ")"
}

// prepare opens the stream and the buckets, and makes what is missing.
func (c *Cluster) prepare(ctx context.Context) error {
	// A cluster that has just started answers nothing until it is in agreement.
	var refused error
	err := c.tryFor(ctx, 3*time.Second, "opening them", func(ctx context.Context) error {
		err := c.prepareWith(ctx, cmp.Or(c.options.Replicas, defaultReplicas))
		if c.options.Replicas == 0 && hasCode(err, codeNoCluster, codeNoPeers) {
			err = c.prepareWith(ctx, 1)
		}
		if hasCode(err, codeNoJetStream) {
			refused = err // it looks as if it would pass, and does not
			return nil
		}
		return err
	})
	if err = cmp.Or(err, refused); err != nil {
		return err
	}
	// Whoever was first said how long a sign of life lasts.
	status, err := c.live.Status(ctx)
	if err == nil && status.TTL() > 0 {
		c.options.AckWait = status.TTL()
	}
	return err
}

// The server's codes for a single server, for a cluster with too few of them, for an
// account without JetStream, and for subjects that overlap with those of other streams.
const (
	codeNoCluster   jetstream.ErrorCode = 10074
	codeNoPeers     jetstream.ErrorCode = 10005
	codeNoJetStream jetstream.ErrorCode = 10039
	codeOverlap     jetstream.ErrorCode = 10065
)

// hasCode says whether an error is the server's, with one of the codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// prepareAdvice says what to do about streams that can't be prepared.
func prepareAdvice(err error) string {
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || hasCode(err, codeOverlap) {
		return "another prefix is in the way: choose a prefix that is not so like it with --cluster-prefix (config: cluster.prefix)"
	}
	return "does the account allow JetStream?"
}

// base begins the names of the stream and the buckets.
func (c *Cluster) base() string { return strings.ReplaceAll(c.options.Prefix, ".", "_") }

func (c *Cluster) prepareWith(ctx context.Context, replicas int) (err error) {
	name := c.base()
	subjects := []string{c.options.Prefix + ".jobs.>"}
	if c.jobs, err = c.js.Stream(ctx, name+"_jobs"); errors.Is(err, jetstream.ErrStreamNotFound) {
		if c.options.Look {
			return ErrNothing
		}
		c.jobs, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: name + "_jobs", Description: jobsDescription, Subjects: subjects,
			Retention: jetstream.WorkQueuePolicy, MaxAge: keepData, Replicas: replicas,
		})
	}
	if err != nil {
		return err
	}
	if of := c.jobs.CachedInfo().Config.Subjects; !slices.Equal(of, subjects) {
		// Such as that of a.b for a_b, whose jobs and buckets would be the same.
		return fmt.Errorf("%w: %s_jobs is there for the subjects %q", jetstream.ErrStreamNameAlreadyInUse, name, of)
	}
	for _, bucket := range []struct {
		open *jetstream.KeyValue
		jetstream.KeyValueConfig
	}{
		{&c.data, jetstream.KeyValueConfig{Bucket: name + "_data", Description: "runs, results and blobs", TTL: keepData}},
		{&c.answers, jetstream.KeyValueConfig{Bucket: name + "_answers", Description: "answers of models", TTL: keepAnswers}},
		{&c.live, jetstream.KeyValueConfig{Bucket: name + "_live", Description: "workers, and who asks for what", TTL: c.options.AckWait, Storage: jetstream.MemoryStorage}},
	} {
		bucket.Replicas = replicas
		if *bucket.open, err = c.js.KeyValue(ctx, bucket.Bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
			if c.options.Look {
				return fmt.Errorf("%w: %s is missing", ErrNothing, bucket.Bucket)
			}
			*bucket.open, err = c.js.CreateOrUpdateKeyValue(ctx, bucket.KeyValueConfig)
		}
		if err != nil {
			return err
		}
	}
	if c.large, err = c.js.ObjectStore(ctx, name+"_large"); errors.Is(err, jetstream.ErrBucketNotFound) {
		if c.options.Look {
			return fmt.Errorf("%w: %s_large is missing", ErrNothing, name)
		}
		c.large, err = c.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: name + "_large", Description: "what is too large for a message", TTL: keepLarge, Replicas: replicas,
		})
	}
	if err != nil {
		return err
	}
	status, err := c.large.Status(ctx) // it may have been made with another time
	if err == nil {
		c.keepLarge = status.TTL()
	}
	return err
}

// Close ends the connection.
func (c *Cluster) Close() error {
	err := c.conn.FlushTimeout(time.Second)
	c.conn.Close()
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	return err
}

// patience is how long something is tried while the servers are not in agreement, such as
// when one of them has just gone.
const patience = time.Minute

// try does something until it works, fails for a reason that lasts, or takes too long.
func (c *Cluster) try(ctx context.Context, what string, do func(context.Context) error) error {
	return c.tryFor(ctx, 10*time.Second, what, do)
}

// tryFor is try with a bound on each attempt.
func (c *Cluster) tryFor(ctx context.Context, attempt time.Duration, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the cluster did not answer for %s", patience))
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		once, stop := context.WithTimeout(ctx, attempt)
		err := do(once)
		stop()
		if err == nil {
			return nil
		}
		if !passing(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("%s: %w (last: %w)", what, context.Cause(ctx), err)
		}
	}
}

// passing says whether an error may go away by itself.
func passing(err error) bool {
	if lasting(err) {
		return false
	}
	for _, e := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse, nats.ErrReconnectBufExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 503
}

// sleep waits unless the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
