package pods

import (
	"bufio"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Limits of resolv.conf and of host names.
const (
	maxDNSNameservers = 3
	maxDNSSearches    = 32
	maxHostname       = 63
)

// hostname returns the host name of the pod. It is empty for host-network pods without
// hostnameOverride, which use the node's name.
func hostname(pod *corev1.Pod, domain string) string {
	if pod.Spec.HostnameOverride != nil {
		return *pod.Spec.HostnameOverride
	}
	if pod.Spec.HostNetwork {
		return ""
	}
	name := pod.Spec.Hostname
	if name == "" {
		name = strings.TrimRight(pod.Name[:min(len(pod.Name), maxHostname)], "-.")
	}
	if fullName := fqdn(pod, name, domain); fullName != "" && pod.Spec.SetHostnameAsFQDN != nil && *pod.Spec.SetHostnameAsFQDN {
		return fullName
	}
	return name
}

// fqdn returns the pod's name in the cluster's DNS, or "" if the pod has no subdomain.
func fqdn(pod *corev1.Pod, host, domain string) string {
	if pod.Spec.Subdomain == "" || domain == "" {
		return ""
	}
	return strings.Join([]string{host, pod.Spec.Subdomain, pod.Namespace, "svc", domain}, ".")
}

// dnsConfig returns the contents of the pod's resolv.conf.
func (r *Runner) dnsConfig(pod *corev1.Pod) *cri.DNSConfig {
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork || policy == "" {
		policy = corev1.DNSDefault
	}
	if policy == corev1.DNSClusterFirstWithHostNet {
		policy = corev1.DNSClusterFirst
	}
	if policy == corev1.DNSClusterFirst && len(r.opts.DNS.Servers) == 0 {
		policy = corev1.DNSDefault
	}
	out := &cri.DNSConfig{}
	if policy != corev1.DNSNone {
		out = r.opts.DNS.nodeConfig(pod.Spec.HostNetwork)
	}
	if domain := r.opts.DNS.Domain; policy == corev1.DNSClusterFirst {
		out.Servers, out.Options = slices.Clone(r.opts.DNS.Servers), []string{"ndots:5"}
		if domain != "" {
			out.Searches = append([]string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}, out.Searches...)
		}
	}
	if podConfig := pod.Spec.DNSConfig; podConfig != nil {
		out.Servers = unique(append(out.Servers, podConfig.Nameservers...))
		out.Searches = unique(append(out.Searches, podConfig.Searches...))
		out.Options = mergeDNSOptions(out.Options, podConfig.Options)
	}
	out.Servers = out.Servers[:min(len(out.Servers), maxDNSNameservers)]
	out.Searches = out.Searches[:min(len(out.Searches), maxDNSSearches)]
	return out
}

// nodeConfig returns the DNS configuration that a pod takes from the node. A pod with its own
// network cannot reach the node's loopback addresses. If the node's resolv.conf names only loopback
// servers, nodeConfig returns the configuration in UpstreamResolvConf instead.
func (d *DNS) nodeConfig(hostNetwork bool) *cri.DNSConfig {
	out := readResolvConf(d.ResolvConf)
	if hostNetwork {
		return out
	}
	if out.Servers = nonLoopback(out.Servers); len(out.Servers) > 0 {
		return out
	}
	upstream := readResolvConf(d.UpstreamResolvConf)
	if upstream.Servers = nonLoopback(upstream.Servers); len(upstream.Servers) > 0 {
		return upstream
	}
	return out
}

// nonLoopback returns the servers whose address is neither loopback nor unspecified. It modifies
// servers.
func nonLoopback(servers []string) []string {
	return slices.DeleteFunc(servers, func(s string) bool {
		addr, err := netip.ParseAddr(s)
		return err == nil && (addr.IsLoopback() || addr.IsUnspecified())
	})
}

// CheckNameservers returns an error if pods of a node with this resolv.conf have no name server.
func CheckNameservers(resolvConf string) error {
	o := DNS{ResolvConf: resolvConf}
	o.setDefaults()
	if len(o.nodeConfig(false).Servers) > 0 {
		return nil
	}
	return fmt.Errorf("%s: no nameserver that pods can reach: pods cannot resolve names unless dnsConfig or clusterDNS sets one", o.ResolvConf)
}

// setDefaults sets the default paths of the resolver files.
func (d *DNS) setDefaults() {
	d.ResolvConf = cmp.Or(d.ResolvConf, "/etc/resolv.conf")
	d.UpstreamResolvConf = cmp.Or(d.UpstreamResolvConf, "/run/systemd/resolve/resolv.conf")
}

// lacksClusterDNS reports whether the pod requests cluster DNS and none is configured, although the
// cluster may have it.
func (r *Runner) lacksClusterDNS(pod *corev1.Pod) bool {
	policy := pod.Spec.DNSPolicy
	return len(r.opts.DNS.Servers) == 0 && !r.opts.DNS.NoCluster && (policy == corev1.DNSClusterFirstWithHostNet || policy == corev1.DNSClusterFirst && !pod.Spec.HostNetwork)
}

// mergeDNSOptions returns base with the pod's options. A pod's option replaces the base option of
// the same name.
func mergeDNSOptions(base []string, podOptions []corev1.PodDNSConfigOption) []string {
	for _, o := range podOptions {
		base = slices.DeleteFunc(base, func(b string) bool {
			name, _, _ := strings.Cut(b, ":")
			return name == o.Name
		})
		option := o.Name
		if o.Value != nil && *o.Value != "" {
			option += ":" + *o.Value
		}
		base = append(base, option)
	}
	return base
}

// unique returns each value once, without empty ones.
func unique(values []string) (out []string) {
	for _, s := range values {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// readResolvConf parses a resolv.conf. It returns an empty configuration if the file cannot be
// read.
func readResolvConf(path string) *cri.DNSConfig {
	out := &cri.DNSConfig{}
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := strings.Fields(lines.Text())
		if len(text) < 2 {
			continue
		}
		switch text[0] {
		case "nameserver":
			out.Servers = append(out.Servers, text[1])
		case "search":
			out.Searches = text[1:]
		case "options":
			out.Options = text[1:]
		}
	}
	return out
}

// hostsFile returns the path of the pod's /etc/hosts.
func (p *pod) hostsFile() string { return filepath.Join(p.runner.podDir(p.latest().UID), hostsName) }

// writeHosts writes the pod's /etc/hosts with the addresses that the pod has now.
func (p *pod) writeHosts() error {
	pod := p.latest()
	p.mu.Lock()
	ips := p.sandbox.addresses
	p.mu.Unlock()
	var b strings.Builder
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		nodeHosts, err := os.ReadFile("/etc/hosts")
		if err != nil {
			return err
		}
		b.Write(nodeHosts)
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
			"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
		name := hostname(pod, "")
		for _, ip := range ips {
			if fullName := fqdn(pod, name, p.runner.opts.DNS.Domain); fullName != "" {
				fmt.Fprintf(&b, "%s\t%s\t%s\n", ip, fullName, name)
			} else {
				fmt.Fprintf(&b, "%s\t%s\n", ip, name)
			}
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, a := range pod.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
		}
	}
	return os.WriteFile(p.hostsFile(), []byte(b.String()), 0o644)
}
