package store

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/testkit"
)

// startTLSEtcd starts an etcd on localhost that requires TLS client certificates. authority signs
// both sides.
func startTLSEtcd(t *testing.T, authority *pki.Authority) string {
	t.Helper()
	certFile, keyFile, err := authority.ServingPair(pki.APIServerAltNames(net.IPv4(127, 0, 0, 1), "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	client := url.URL{Scheme: "https", Host: testkit.FreeAddress(t)}
	peer := url.URL{Scheme: "http", Host: testkit.FreeAddress(t)}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = t.TempDir(), "panic"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ClientTLSInfo = transport.TLSInfo{CertFile: certFile, KeyFile: keyFile, TrustedCAFile: authority.CAFile(), ClientCertAuth: true}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd was not ready after a minute")
	}
	return client.String()
}

// writeClientFiles writes a client certificate and key of authority to files.
func writeClientFiles(t *testing.T, authority *pki.Authority) (certFile, keyFile string) {
	t.Helper()
	cert, key, err := authority.ClientPEM(pki.Component("store"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")
	for file, data := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestOpenExternalRequiresValidTLSFiles(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	config := ExternalConfig{Servers: []string{startTLSEtcd(t, authority)}, CAFile: authority.CAFile()}
	config.CertFile, config.KeyFile = writeClientFiles(t, authority)
	backend, err := OpenExternal(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	backend.Close()

	otherAuthority, err := pki.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	otherCert := config
	otherCert.CertFile, otherCert.KeyFile = writeClientFiles(t, otherAuthority)
	if b, err := openWithTimeout(t, otherCert); err == nil {
		b.Close()
		t.Error("OpenExternal with a certificate of another CA returned no error")
	}
	missing := config
	missing.KeyFile = filepath.Join(t.TempDir(), "none")
	if b, err := OpenExternal(t.Context(), missing); err == nil {
		b.Close()
		t.Error("OpenExternal with a missing key file returned no error")
	}
}

// openWithTimeout calls OpenExternal with a timeout of 3 seconds.
func openWithTimeout(t *testing.T, c ExternalConfig) (*Backend, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	return OpenExternal(ctx, c)
}

// TestMemberHealthReportsMissingLeaderAndAlarms checks that a member without leader or with an alarm is not
// healthy, although it responds.
func TestMemberHealthReportsMissingLeaderAndAlarms(t *testing.T) {
	for want, status := range map[string]*clientv3.StatusResponse{
		"":                            {Leader: 1},
		"etcd has no leader":          {},
		"etcd reports: alarm:NOSPACE": {Leader: 1, Errors: []string{"alarm:NOSPACE"}},
	} {
		got := ""
		if err := memberHealth(status); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("memberHealth(%v) = %q, want %q", status, got, want)
		}
	}
}
