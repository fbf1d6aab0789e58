package dns

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"k8s.io/klog/v2"
)

const (
	// upstreamTimeout bounds the wait for one name server.
	upstreamTimeout = 2 * time.Second
	// maxUpstreams is the maximum number of name servers in use, as in resolv.conf(5).
	maxUpstreams = 3
	// reloadInterval is how often the file of the name servers is checked for changes.
	reloadInterval = 5 * time.Second
	// probeSuffix is the suffix of the names of loop probes.
	probeSuffix = ".loop-probe.berth.invalid."
)

// errNoUpstream means that no name server is available.
var errNoUpstream = errors.New("no upstream name server")

// forwarder forwards queries to the name servers of a resolv.conf.
type forwarder struct {
	file string
	port string // port of the name servers
	// isOwn reports whether an address is one of the server's addresses.
	isOwn func(netip.AddrPort) bool
	log   klog.Logger

	mu      sync.Mutex
	checked time.Time // time of the last check for changes of the file
	changed time.Time // modification time of the file when it was read
	servers []netip.AddrPort
	probes  map[string]netip.AddrPort // by name, the name server to which a probe was sent
}

// upstreams returns the name servers, after reading a changed file.
func (f *forwarder) upstreams() []netip.AddrPort {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < reloadInterval {
		return f.servers
	}
	f.checked = time.Now()
	info, err := os.Stat(f.file)
	if err != nil || info.ModTime().Equal(f.changed) {
		return f.servers
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return f.servers
	}
	f.changed, f.servers = info.ModTime(), nil
	f.probes = map[string]netip.AddrPort{}
	for _, a := range parseNameservers(string(text)) {
		port, _ := strconv.ParseUint(f.port, 10, 16)
		server := netip.AddrPortFrom(a, uint16(port))
		if f.isOwn(server) || len(f.servers) == maxUpstreams {
			continue
		}
		f.servers = append(f.servers, server)
		name := strconv.FormatUint(rand.Uint64(), 36) + probeSuffix
		f.probes[name] = server
		go f.probe(name, server)
	}
	f.log.Info("Cluster DNS forwards other names", "file", f.file, "nameservers", f.servers)
	return f.servers
}

// parseNameservers returns the addresses of the name servers in a resolv.conf.
func parseNameservers(text string) (out []netip.Addr) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// probe sends a loop probe to a name server. If the name server forwards it to this server, isProbe detects the loop.
func (f *forwarder) probe(name string, server netip.AddrPort) {
	m := new(dns.Msg).SetQuestion(name, dns.TypeHINFO)
	c := dns.Client{Timeout: upstreamTimeout}
	_, _, _ = c.Exchange(m, server.String())
}

// isProbe reports whether the name is a probe. If this server sent the probe, isProbe removes the
// name server that received it, because that name server forwards to this server.
func (f *forwarder) isProbe(name string) bool {
	if !strings.HasSuffix(name, probeSuffix) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if server, ok := f.probes[name]; ok {
		f.servers = slices.DeleteFunc(slices.Clone(f.servers), func(s netip.AddrPort) bool { return s == server })
		f.log.Info("A name server forwards to cluster DNS and is no longer used", "nameserver", server, "file", f.file)
	}
	return true
}

// exchange forwards a query to the name servers in turn. It returns the first reply that is neither
// SERVFAIL nor REFUSED.
func (f *forwarder) exchange(query *dns.Msg, network string) (*dns.Msg, error) {
	forwarded := query.Copy()
	forwarded.Id = dns.Id()
	err := errNoUpstream
	for _, server := range f.upstreams() {
		c := dns.Client{Net: network, Timeout: upstreamTimeout, UDPSize: dns.MinMsgSize}
		if opt := forwarded.IsEdns0(); opt != nil {
			c.UDPSize = max(dns.MinMsgSize, opt.UDPSize())
		}
		var reply *dns.Msg
		reply, _, err = c.Exchange(forwarded, server.String())
		if err == nil && !sameQuestion(forwarded, reply) {
			err = errors.New("the name server answered another question")
		}
		if err == nil && reply.Rcode != dns.RcodeServerFailure && reply.Rcode != dns.RcodeRefused {
			reply.Id = query.Id
			return reply, nil
		}
		if err == nil {
			err = errors.New("the name server answered " + dns.RcodeToString[reply.Rcode])
		}
	}
	return nil, err
}

// sameQuestion reports whether b answers the question of a.
func sameQuestion(a, b *dns.Msg) bool {
	return len(b.Question) == 1 && strings.EqualFold(a.Question[0].Name, b.Question[0].Name) && a.Question[0].Qtype == b.Question[0].Qtype
}
