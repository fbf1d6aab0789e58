package conformance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/internal/testkit"
)

// apiServer is a running `berth server` and a client of it.
type apiServer struct {
	base   string
	client *http.Client
	// etcd is set if the test may compact the store.
	etcd *clientv3.Client
	// replays is the number of replayed vectors. Unique names contain it.
	replays int
}

// servers starts the servers that a test needs, each of them once.
type servers struct {
	binary                     func() string
	embeddedOnce, externalOnce sync.Once
	embeddedServer             *apiServer
	externalServer             *apiServer
}

func newServers(t *testing.T) *servers {
	return &servers{binary: func() string { return testkit.Binary(t) }}
}

// embedded returns a server with the embedded store.
func (s *servers) embedded(t *testing.T) *apiServer {
	s.embeddedOnce.Do(func() { s.embeddedServer = startServer(t, s.binary()) })
	if s.embeddedServer == nil {
		t.Fatal("the server did not start")
	}
	return s.embeddedServer
}

// compactable returns a server with an external etcd, which the test may compact.
func (s *servers) compactable(t *testing.T) *apiServer {
	s.externalOnce.Do(func() {
		endpoint, client := startEtcd(t)
		s.externalServer = startServer(t, s.binary(), "--etcd-servers", endpoint)
		s.externalServer.etcd = client
	})
	if s.externalServer == nil {
		t.Fatal("the server on an external etcd did not start")
	}
	return s.externalServer
}

// processes has the functions that stop the started processes. They run after all tests, because a later
// subtest may use a process that an earlier subtest has started.
var processes struct {
	sync.Mutex
	stop []func()
}

// TestMain calls the functions that atExit registered after all tests.
func TestMain(m *testing.M) {
	code := m.Run()
	processes.Lock()
	defer processes.Unlock()
	for i := len(processes.stop) - 1; i >= 0; i-- {
		processes.stop[i]()
	}
	os.Exit(code)
}

// atExit registers a function to call after all tests, in reverse order.
func atExit(f func()) {
	processes.Lock()
	defer processes.Unlock()
	processes.stop = append(processes.stop, f)
}

// startServer runs `berth server` in a new data directory with the settings of the
// recordings: without service accounts, and without Berth's deliberate differences.
func startServer(t *testing.T, binary string, extraArgs ...string) *apiServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-api")
	if err != nil {
		t.Fatal(err)
	}
	atExit(func() { _ = os.RemoveAll(dir) })
	address := testkit.FreeAddress(t)
	file := filepath.Join(dir, "as-recorded.yaml")
	if err := os.WriteFile(file, []byte(recordedConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"server", "--config", file, "--data-dir", filepath.Join(dir, "data"), "--listen", address, "--stored-only-warnings=false", "--strict-resource-versions=false", "--disable-admission-plugins", "ServiceAccount"}, extraArgs...)
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	atExit(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case _ = <-exited:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
		}
	})
	return connect(t, filepath.Join(dir, "data", "kubeconfig"), exited)
}

// recordedConfig disables the differences that no flag disables.
const recordedConfig = `apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
budgets: {severalMatch: refuse, recount: false, refundFailedEvictions: false, explainRefusals: false, forbidImpossible: false}
`

// connect returns a client of a server after its kubeconfig exists and /readyz succeeds.
func connect(t *testing.T, kubeconfig string, exited <-chan error) *apiServer {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	var server *apiServer
	for time.Now().Before(deadline) {
		select {
		case err := <-exited:
			t.Fatalf("berth server exited: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if server == nil {
			server = newAdminClient(kubeconfig)
		}
		if server == nil {
			continue
		}
		resp, err := server.client.Get(server.base + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return server
		}
	}
	t.Fatal("berth server was not ready after two minutes")
	return nil
}

// newAdminClient returns a client with the admin's credentials, which uses HTTP/1.1 and one connection. It
// returns nil until the kubeconfig exists.
func newAdminClient(kubeconfig string) *apiServer {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil
	}
	cert, err := tls.X509KeyPair(cfg.CertData, cfg.KeyData)
	if err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cfg.CAData)
	return &apiServer{
		base: cfg.Host,
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}},
			MaxConnsPerHost: 1,
		}},
	}
}

// startEtcd runs an etcd on loopback in the role of an external cluster.
func startEtcd(t *testing.T) (string, *clientv3.Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-etcd")
	if err != nil {
		t.Fatal(err)
	}
	client, peer := mustURL(t, "http://"+testkit.FreeAddress(t)), mustURL(t, "http://"+testkit.FreeAddress(t))
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = dir, "error"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	atExit(func() { server.Close(); _ = os.RemoveAll(dir) })
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd was not ready after a minute")
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{client.String()}, Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	atExit(func() { _ = c.Close() })
	return client.String(), c
}

func mustURL(t *testing.T, s string) url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return *u
}
