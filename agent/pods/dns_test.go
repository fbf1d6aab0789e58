package pods

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestDNS(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, []byte("# node\nnameserver 192.0.2.53\nsearch lan\noptions timeout:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	local, upstream := conf+".local", conf+".upstream"
	for file, text := range map[string]string{local: "nameserver 127.0.0.53\nnameserver ::1\nnameserver 0.0.0.0\noptions trust-ad\n",
		upstream: "nameserver 127.0.0.1\nnameserver 192.0.2.7\nsearch home\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cluster := DNS{Servers: []string{"10.0.0.10"}, Domain: "cluster.local", ResolvConf: conf}
	ndots := "2"
	for name, tc := range map[string]struct {
		dns  DNS
		spec corev1.PodSpec
		want string // servers | searches | options
	}{
		"cluster first":                             {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst}, "10.0.0.10|default.svc.cluster.local svc.cluster.local cluster.local lan|ndots:5"},
		"the node's configuration":                  {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSDefault}, "192.0.2.53|lan|timeout:1"},
		"host network":                              {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst, HostNetwork: true}, "192.0.2.53|lan|timeout:1"},
		"cluster DNS with host network":             {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirstWithHostNet, HostNetwork: true}, "10.0.0.10|default.svc.cluster.local svc.cluster.local cluster.local lan|ndots:5"},
		"a cluster without DNS":                     {DNS{ResolvConf: conf}, corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst}, "192.0.2.53|lan|timeout:1"},
		"a node without resolv.conf":                {DNS{ResolvConf: conf + ".none"}, corev1.PodSpec{DNSPolicy: corev1.DNSDefault}, "||"},
		"local resolver":                            {DNS{ResolvConf: local, UpstreamResolvConf: upstream}, corev1.PodSpec{DNSPolicy: corev1.DNSDefault}, "192.0.2.7|home|"},
		"a loopback resolver with host network":     {DNS{ResolvConf: local, UpstreamResolvConf: upstream}, corev1.PodSpec{DNSPolicy: corev1.DNSDefault, HostNetwork: true}, "127.0.0.53 ::1 0.0.0.0||trust-ad"},
		"without upstream servers":                  {DNS{ResolvConf: local, UpstreamResolvConf: local}, corev1.PodSpec{DNSPolicy: corev1.DNSDefault}, "||trust-ad"},
		"other servers next to a loopback resolver": {DNS{ResolvConf: upstream, UpstreamResolvConf: conf}, corev1.PodSpec{DNSPolicy: corev1.DNSDefault}, "192.0.2.7|home|"},
		"only the pod's configuration":              {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSNone, DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"1.1.1.1", "1.1.1.1"}, Searches: []string{"x"}}}, "1.1.1.1|x|"},
		"the pod's options take precedence":         {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst, DNSConfig: &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &ndots}, {Name: "edns0"}}}}, "10.0.0.10|default.svc.cluster.local svc.cluster.local cluster.local lan|ndots:2 edns0"},
		"more servers than resolv.conf may have":    {cluster, corev1.PodSpec{DNSPolicy: corev1.DNSDefault, DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"1.1.1.1", "1.1.1.2", "1.1.1.3"}}}, "192.0.2.53 1.1.1.1 1.1.1.2|lan|timeout:1"},
	} {
		pod := testPod("web")
		pod.Spec = tc.spec
		c := (&Runner{opts: Options{DNS: tc.dns}}).dnsConfig(pod)
		if got := strings.Join([]string{strings.Join(c.Servers, " "), strings.Join(c.Searches, " "), strings.Join(c.Options, " ")}, "|"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestLacksClusterDNS checks that pods get a warning if the cluster may have DNS, but the node has no
// address of it configured.
func TestLacksClusterDNS(t *testing.T) {
	pod := testPod("web")
	pod.Spec.DNSPolicy = corev1.DNSClusterFirst
	for want, dns := range map[bool][]DNS{true: {{}}, false: {{Servers: []string{"10.0.0.10"}}, {NoCluster: true}}} {
		for _, d := range dns {
			if got := (&Runner{opts: Options{DNS: d}}).lacksClusterDNS(pod); got != want {
				t.Errorf("lacksClusterDNS with %+v: %v, want %v", d, got, want)
			}
		}
	}
}

// TestCheckNameservers checks the warning about pods without name servers.
func TestCheckNameservers(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	for text, missing := range map[string]bool{"nameserver 192.0.2.53\n": false, "nameserver 127.0.0.11\nsearch lan\n": true, "": true} {
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("/run/systemd/resolve/resolv.conf"); err == nil && missing {
			continue // pods use that server
		}
		if err := CheckNameservers(conf); (err != nil) != missing || missing && !strings.Contains(err.Error(), conf+": no nameserver") {
			t.Errorf("%q: %v, want an error: %v", text, err, missing)
		}
	}
}

func TestHostname(t *testing.T) {
	asFQDN := true
	for want, pod := range map[string]*corev1.Pod{
		"web":                   testPod("web"),
		strings.Repeat("x", 62): testPod(strings.Repeat("x", 62) + "-tail"),
		"custom":                {Spec: corev1.PodSpec{Hostname: "custom"}},
		"custom.sub.default.svc.cluster.local": func() *corev1.Pod {
			p := testPod("web")
			p.Spec.Hostname, p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "custom", "sub", &asFQDN
			return p
		}(),
		"": {Spec: corev1.PodSpec{HostNetwork: true}},
	} {
		if got := hostname(pod, "cluster.local"); got != want {
			t.Errorf("host name of %s: %q, want %q", pod.Name, got, want)
		}
	}
}
