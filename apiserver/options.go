package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/apiserver/pkg/server/options"

	"github.com/berthproject/berth/apiserver/admission"
	"github.com/berthproject/berth/apiserver/audit"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/internal/eviction"
)

// Options configures a Server.
type Options struct {
	// Listen is the address to listen on, HOST:PORT. Port 0 selects a free port.
	Listen string
	// AdvertiseAddress is the IP address of this server in the endpoints of the Service
	// default/kubernetes. Empty selects the address in Listen or, if other machines cannot reach that,
	// the address of the interface with the default route.
	AdvertiseAddress string
	// PodNetwork is the CIDR of pods on this machine, or empty. If Listen is a loopback address, the server also
	// accepts connections from this network, and from this machine, on the advertised address.
	PodNetwork string
	// DataDir is the directory of the embedded etcd, the certificate authority and the admin kubeconfig.
	DataDir string
	// Kubeconfig is the path of the admin kubeconfig. The default is DataDir/kubeconfig.
	Kubeconfig string
	// TokenAuthFile is the path of a CSV of static bearer tokens (token,user,uid,"group1,group2").
	// Empty means none.
	TokenAuthFile string
	// EtcdServers are the URLs of an external etcd cluster. Empty selects the embedded etcd.
	EtcdServers []string
	// EtcdCAFile, EtcdCertFile and EtcdKeyFile are PEM files for TLS to EtcdServers.
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string
	// ServiceClusterIPRange is the CIDR from which cluster IPs are allocated.
	ServiceClusterIPRange string
	// DisableAdmissionPlugins are the names of the admission plugins to disable.
	DisableAdmissionPlugins []string
	// AdmissionConfigFile is the path of an AdmissionConfiguration (apiserver.config.k8s.io/v1).
	// Empty means the defaults of each plugin.
	AdmissionConfigFile string
	// Audit configures the audit log and webhook. It must not be nil. Without a policy file, the server
	// records nothing.
	Audit *options.AuditOptions
	// EncryptionConfigFile is the path of an EncryptionConfiguration (apiserver.config.k8s.io/v1).
	// Empty means no encryption. EncryptionConfigReload reads it again when it changes.
	EncryptionConfigFile   string
	EncryptionConfigReload bool
	// MaxRequestsInFlight plus MaxMutatingRequestsInFlight is the maximum number of concurrent requests. API Priority
	// and Fairness divides it between priority levels. Long-running requests do not count. Both must be positive.
	MaxRequestsInFlight, MaxMutatingRequestsInFlight int
	// StoredOnlyWarnings returns a warning when an object of a stored-only kind is created.
	StoredOnlyWarnings bool
	// StrictResourceVersions rejects resource versions that are not numbers with 400 or 422 in
	// watches and updates, where kube-apiserver returns 500.
	StrictResourceVersions bool
	// NodeTolerationSeconds are the default toleration seconds for not-ready and unreachable nodes.
	NodeTolerationSeconds admission.NodeTolerationSeconds
	// Evictions configures the pods/eviction subresource.
	Evictions eviction.Options
}

// DefaultOptions returns the options of `berth server` without flags.
func DefaultOptions() Options {
	return Options{
		Listen:                      "127.0.0.1:6443",
		DataDir:                     defaultDataDir(),
		ServiceClusterIPRange:       "10.96.0.0/16",
		MaxRequestsInFlight:         400,
		MaxMutatingRequestsInFlight: 200,
		Audit:                       options.NewAuditOptions(),
		StoredOnlyWarnings:          true,
		StrictResourceVersions:      true,
		NodeTolerationSeconds:       admission.DefaultNodeTolerationSeconds(),
		Evictions: eviction.Options{Refund: true, IncludeReason: true,
			Rules: budget.Evictions{Recount: true, ForbidImpossible: true}},
	}
}

// defaultDataDir returns the directory berth under the user's state directory.
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
		return fmt.Errorf("--listen %q: must be HOST:PORT, such as 127.0.0.1:6443: %w", o.Listen, err)
	}
	if ip := net.ParseIP(o.AdvertiseAddress); o.AdvertiseAddress != "" && !ip.IsGlobalUnicast() {
		return fmt.Errorf("--advertise-address %q: must be an IP address that other machines can reach, such as 192.0.2.1", o.AdvertiseAddress)
	}
	if o.DataDir == "" {
		return errors.New(`--data-dir "": must be a directory`)
	}
	_, network, err := net.ParseCIDR(o.ServiceClusterIPRange)
	if err != nil {
		return fmt.Errorf("--service-cluster-ip-range %q: must be a CIDR, such as 10.96.0.0/16: %w", o.ServiceClusterIPRange, err)
	}
	if ones, bits := network.Mask.Size(); bits-ones < 3 {
		return fmt.Errorf("--service-cluster-ip-range %q: must have at least 8 addresses, such as 10.96.0.0/16", o.ServiceClusterIPRange)
	}
	if o.MaxRequestsInFlight <= 0 || o.MaxMutatingRequestsInFlight <= 0 {
		return fmt.Errorf("--max-requests-inflight %d, --max-mutating-requests-inflight %d: must be more than 0", o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight)
	}
	if err := audit.Validate(o.Audit); err != nil {
		return err
	}
	for _, server := range o.EtcdServers {
		if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("--etcd-servers %q: must be URLs, such as https://10.0.0.1:2379", server)
		}
	}
	if len(o.EtcdServers) == 0 && (o.EtcdCAFile != "" || o.EtcdCertFile != "" || o.EtcdKeyFile != "") {
		return fmt.Errorf("--etcd-cafile %q, --etcd-certfile %q, --etcd-keyfile %q: require --etcd-servers", o.EtcdCAFile, o.EtcdCertFile, o.EtcdKeyFile)
	}
	return nil
}
