package dns

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
	"k8s.io/klog/v2"
)

const (
	// maxUDPSize is the size in bytes of the largest UDP answer. It fits into packets of IPv6's
	// minimum MTU.
	maxUDPSize = 1232
	// maxAliases is the maximum number of CNAMEs followed for one query.
	maxAliases = 8
)

// handler answers queries.
type handler struct {
	zone               *zone
	forward            *forwarder
	queries, forwarded *limiter
	log                klog.Logger
}

// ServeDNS implements dns.Handler.
func (h *handler) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	client := addressOf(w.RemoteAddr())
	if !h.queries.start(client) {
		return // the client retries
	}
	defer h.queries.end(client)
	network := w.LocalAddr().Network()
	reply := h.answer(query, client, network)
	opt := query.IsEdns0()
	size := dns.MinMsgSize
	reply.Extra = withoutOPT(reply.Extra)
	if opt != nil {
		size = min(max(dns.MinMsgSize, int(opt.UDPSize())), maxUDPSize)
		reply.SetEdns0(maxUDPSize, opt.Do())
		if opt.Version() != 0 {
			reply.Answer, reply.Ns = nil, nil
			reply.Rcode = dns.RcodeBadVers
		}
	}
	if network != "udp" {
		size = dns.MaxMsgSize
	}
	reply.Compress = true
	reply.Truncate(size)
	if err := w.WriteMsg(reply); err != nil {
		h.log.V(2).Info("Failed to answer a DNS query", "client", client, "err", err.Error())
	}
}

func withoutOPT(records []dns.RR) (out []dns.RR) {
	for _, r := range records {
		if r.Header().Rrtype != dns.TypeOPT {
			out = append(out, r)
		}
	}
	return out
}

// answer returns the reply to a query: from the zone, from a name server, or with an error code.
func (h *handler) answer(query *dns.Msg, client netip.Addr, network string) *dns.Msg {
	reply := new(dns.Msg).SetReply(query)
	reply.RecursionAvailable = true
	fail := func(rcode int) *dns.Msg {
		reply.Rcode = rcode
		return reply
	}
	if query.Opcode != dns.OpcodeQuery {
		return fail(dns.RcodeNotImplemented)
	}
	if len(query.Question) != 1 {
		return fail(dns.RcodeFormatError)
	}
	q := query.Question[0]
	name := strings.ToLower(q.Name)
	switch {
	case !isPrivate(client) && !h.zone.store.hasNode(client) && !isOwnAddress(client):
		return fail(dns.RcodeRefused)
	case q.Qtype == dns.TypeAXFR || q.Qtype == dns.TypeIXFR || q.Qclass != dns.ClassINET:
		return fail(dns.RcodeRefused)
	case h.forward.isProbe(name):
		return fail(dns.RcodeNameError)
	case h.zone.contains(name):
		return h.answerZone(reply, q, client, network)
	}
	if q.Qtype == dns.TypePTR {
		if r, ok := h.zone.pointer(q.Name); ok {
			reply.Authoritative, reply.Answer = true, r.answers
			return reply
		}
	}
	if forwarded := h.recurse(query, client, network); forwarded != nil {
		return forwarded
	}
	return fail(dns.RcodeServerFailure)
}

// answerZone answers from the zone and follows aliases.
func (h *handler) answerZone(reply *dns.Msg, q dns.Question, client netip.Addr, network string) *dns.Msg {
	reply.Authoritative = true
	r := h.zone.resolve(q.Name, q.Qtype)
	reply.Answer, reply.Extra = r.answers, r.extra
	for range maxAliases {
		if r.alias == "" {
			break
		}
		if !h.zone.contains(strings.ToLower(r.alias)) {
			aliasQuery := new(dns.Msg).SetQuestion(r.alias, q.Qtype)
			aliasQuery.SetEdns0(maxUDPSize, false)
			forwarded := h.recurse(aliasQuery, client, network)
			if forwarded == nil {
				reply.Rcode = dns.RcodeServerFailure
				return reply
			}
			reply.Answer, reply.Rcode = append(reply.Answer, forwarded.Answer...), forwarded.Rcode
			return reply
		}
		r = h.zone.resolve(r.alias, q.Qtype)
		reply.Answer = append(reply.Answer, r.answers...)
	}
	reply.Rcode = r.rcode
	if len(r.answers) == 0 {
		reply.Ns = []dns.RR{h.zone.soa()}
	}
	return reply
}

// recurse forwards a query. It returns nil if no name server answers or too many queries are being
// forwarded.
func (h *handler) recurse(query *dns.Msg, client netip.Addr, network string) *dns.Msg {
	if !h.forwarded.start(client) {
		return nil
	}
	defer h.forwarded.end(client)
	reply, err := h.forward.exchange(query, network)
	if err != nil {
		h.log.V(2).Info("Failed to forward a DNS query", "name", query.Question[0].Name, "err", err.Error())
		return nil
	}
	return reply
}
