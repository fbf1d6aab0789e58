package apiserver

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/berthproject/berth/apiserver/admission"
	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/engine/budget"
)

// Options say where a server listens, what it keeps its objects in, and what it serves.
type Options struct {
	// Listen is HOST:PORT; port 0 takes a free one.
	Listen string
	// DataDir holds the embedded etcd, the certificate authority and the admin's kubeconfig.
	DataDir string
	// Kubeconfig is where the admin's kubeconfig is written; empty: in DataDir.
	Kubeconfig string
	// TokenAuthFile is a CSV of static bearer tokens (token,user,uid,"group1,group2"); empty: none.
	TokenAuthFile string
	// EtcdServers are URLs of an external cluster; the embedded one is not started then.
	EtcdServers []string
	// EtcdCAFile, EtcdCertFile and EtcdKeyFile are PEM files for TLS to EtcdServers.
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string
	// ServiceClusterIPRange is the CIDR that services get addresses from.
	ServiceClusterIPRange string
	// DisableAdmissionPlugins names plugins to leave out.
	DisableAdmissionPlugins []string
	// MaxRequestsInFlight bounds reads being answered, MaxMutatingRequestsInFlight writes;
	// more are answered 429. Watches do not count.
	MaxRequestsInFlight, MaxMutatingRequestsInFlight int
	// StoredOnlyWarnings answers creates of kinds that nothing acts on yet with a Warning.
	StoredOnlyWarnings bool
	// StrictResourceVersions answers resource versions that are no numbers with 400 or 422
	// in watches and updates, too, where kube-apiserver answers 500.
	StrictResourceVersions bool
	// NodeTolerationSeconds is for how long pods that do not say so stay on lost nodes.
	NodeTolerationSeconds admission.NodeTolerationSeconds
	// Evictions say how requests to evict pods are answered.
	Evictions subresource.EvictionOptions
}

// DefaultOptions are those of `berth server` without flags.
func DefaultOptions() Options {
	return Options{
		Listen:                      "127.0.0.1:6443",
		DataDir:                     defaultDataDir(),
		ServiceClusterIPRange:       "10.96.0.0/16",
		MaxRequestsInFlight:         400,
		MaxMutatingRequestsInFlight: 200,
		StoredOnlyWarnings:          true,
		StrictResourceVersions:      true,
		NodeTolerationSeconds:       admission.DefaultNodeTolerationSeconds(),
		Evictions: subresource.EvictionOptions{Refund: true, IncludeReason: true,
			Rules: budget.Evictions{Recount: true, ForbidImpossible: true}},
	}
}

// defaultDataDir is berth under the user's state directory.
func defaultDataDir() string {
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "berth")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "berth-data"
	}
	return filepath.Join(home, ".local", "state", "berth")
}

func (o Options) validate() error {
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fmt.Errorf("--listen %q: want HOST:PORT, e.g. 127.0.0.1:6443: %w", o.Listen, err)
	}
	if o.DataDir == "" {
		return fmt.Errorf("--data-dir is empty: want a directory")
	}
	_, network, err := net.ParseCIDR(o.ServiceClusterIPRange)
	if err != nil {
		return fmt.Errorf("--service-cluster-ip-range %q: want a CIDR, e.g. 10.96.0.0/16: %w", o.ServiceClusterIPRange, err)
	}
	if ones, bits := network.Mask.Size(); bits-ones < 3 {
		return fmt.Errorf("--service-cluster-ip-range %q: want room for 8 addresses at least, e.g. 10.96.0.0/16", o.ServiceClusterIPRange)
	}
	if o.MaxRequestsInFlight <= 0 || o.MaxMutatingRequestsInFlight <= 0 {
		return fmt.Errorf("max requests in flight are %d and %d (mutating): want more than 0", o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight)
	}
	for _, server := range o.EtcdServers {
		if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("--etcd-servers %q: want URLs, e.g. https://10.0.0.1:2379", server)
		}
	}
	if len(o.EtcdServers) == 0 && (o.EtcdCAFile != "" || o.EtcdCertFile != "" || o.EtcdKeyFile != "") {
		return fmt.Errorf("TLS files for etcd are given without --etcd-servers")
	}
	return nil
}
