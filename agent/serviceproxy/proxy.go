//go:build linux

package serviceproxy

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// verifyInterval is how often the proxy checks that no other program has changed its tables.
	verifyInterval = 5 * time.Second
	// retryDelay is the delay after a failed transaction, and between attempts to become the proxy.
	retryDelay = time.Second
)

// Proxy routes the traffic of Services on this machine.
type Proxy struct {
	opts     Options
	rules    *ruleset
	health   *healthChecks
	services cache.Indexer
	slices   cache.Indexer
	nodes    cache.Indexer

	mu           sync.Mutex
	dirty        map[string]bool // keys of Services
	nodesChanged bool            // a node of this machine has changed
	wake         chan struct{}
	stale        []*staleFlows // by table: flows made stale by changes that are not yet in the kernel
	routes       *routes
}

// New returns a proxy. It does nothing until Run.
func New(o Options) *Proxy {
	return &Proxy{opts: o, health: &healthChecks{log: o.Log, servers: map[string]*healthServer{}}, dirty: map[string]bool{}, wake: make(chan struct{}, 1), routes: newRoutes()}
}

// Run runs the proxy until ctx is done. If another process is this network namespace's proxy, Run first
// waits until that process ends.
func (p *Proxy) Run(ctx context.Context) error {
	unlock, err := p.lock(ctx)
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	bridged := prepareKernel()
	if !bridged {
		p.opts.Log.Info("The kernel has no br_netfilter; pods of this machine see the bridge's address instead of the client's on connections through Services")
	}
	p.rules = newRuleset(!bridged)
	p.rules.loc = location{nodes: map[string]bool{}}
	for _, n := range p.opts.Nodes {
		p.rules.loc.nodes[n] = true
	}
	if err := p.watch(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	p.opts.Log.Info("Service proxy started", "nodes", p.opts.Nodes)
	p.loop(ctx)
	p.health.close()
	if p.opts.KeepRules {
		return nil
	}
	return Remove()
}

// loop applies changes until ctx is done.
func (p *Proxy) loop(ctx context.Context) {
	check := time.NewTicker(verifyInterval)
	defer check.Stop()
	for {
		if err := p.sync(); err != nil {
			p.opts.Log.Error(err, "Failed to apply the rules of Services; retrying", "delay", retryDelay)
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryDelay):
				continue
			}
		}
		if p.opts.MinSync > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(p.opts.MinSync):
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-check.C:
			if p.opts.Yield && !p.waitForOtherProxy(ctx) {
				return
			}
			p.checkTables()
		}
	}
}

// waitForOtherProxy removes the tables and waits while another service proxy has rules on this
// machine. It returns false if ctx ends first.
func (p *Proxy) waitForOtherProxy(ctx context.Context) bool {
	for waiting := false; ; waiting = true {
		found := DetectOtherProxy()
		if found == "" {
			if waiting {
				p.opts.Log.Info("The other service proxy has removed its rules; routing Services again")
				p.rules.replaceTables()
			}
			return true
		}
		if !waiting {
			p.opts.Log.Info("Another service proxy runs on this machine; removing the rules of this one", "found", found)
			if err := Remove(); err != nil {
				p.opts.Log.Error(err, "Failed to remove the rules")
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(verifyInterval):
		}
	}
}

// checkTables makes the next sync replace the tables if another program has changed them.
func (p *Proxy) checkTables() {
	changed, err := p.rules.isModified()
	if err != nil {
		p.opts.Log.Error(err, "Failed to check the nftables tables")
	}
	if changed {
		p.opts.Log.Info("Another program has changed the nftables tables of the service proxy; replacing them", "table", tableName)
		p.rules.replaceTables()
	}
}

// sync computes the rules of changed Services and writes them in one transaction.
func (p *Proxy) sync() error {
	p.mu.Lock()
	keys, nodesChanged := p.dirty, p.nodesChanged
	p.dirty, p.nodesChanged = map[string]bool{}, false
	p.mu.Unlock()
	if nodesChanged && p.updateLocation() {
		for _, key := range p.services.ListKeys() {
			keys[key] = true
		}
	}
	for len(p.stale) < len(p.rules.tables) {
		p.stale = append(p.stale, newStaleFlows())
	}
	for key := range keys {
		service, list := p.lookUp(key)
		previous := make([]*fragment, len(p.rules.tables))
		for i, t := range p.rules.tables {
			previous[i] = t.fragments[key]
		}
		p.rules.set(key, service, list)
		for i, t := range p.rules.tables {
			current := t.fragments[key]
			if current == nil {
				current = emptyFragment()
			}
			p.stale[i].add(previous[i], current)
			p.routes.replace(previous[i], current)
		}
		port, local := healthPort(service, list, p.rules.loc)
		p.health.set(key, port, local)
	}
	if err := p.rules.commit(); err != nil {
		return err
	}
	for i, t := range p.rules.tables {
		p.stale[i].delete(t.family, p.opts.Log)
	}
	p.stale = nil
	p.routes.apply()
	return nil
}

// lookUp returns a Service with its EndpointSlices, or nil if the proxy does not handle the Service.
func (p *Proxy) lookUp(key string) (*corev1.Service, []*discoveryv1.EndpointSlice) {
	object, exists, err := p.services.GetByKey(key)
	if err != nil || !exists {
		return nil, nil
	}
	s := object.(*corev1.Service)
	if s.Labels[proxyNameLabel] != "" || s.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil, nil
	}
	objects, err := p.slices.ByIndex(serviceIndex, key)
	if err != nil {
		return nil, nil
	}
	var list []*discoveryv1.EndpointSlice
	for _, o := range objects {
		list = append(list, o.(*discoveryv1.EndpointSlice))
	}
	return s, list
}

// updateLocation sets the pod CIDRs and the zone of this machine's nodes. It reports whether the rules of Services
// depend on what has changed.
func (p *Proxy) updateLocation() bool {
	var cidrs []netip.Prefix
	byNode := map[string][]netip.Prefix{}
	zone := ""
	for _, name := range p.opts.Nodes {
		object, exists, err := p.nodes.GetByKey(name)
		if err != nil || !exists {
			continue
		}
		n := object.(*corev1.Node)
		for _, text := range append([]string{n.Spec.PodCIDR}, n.Spec.PodCIDRs...) {
			if c, err := netip.ParsePrefix(text); err == nil {
				cidrs = append(cidrs, c)
				byNode[name] = append(byNode[name], c)
			}
		}
		if zone == "" {
			zone = n.Labels[corev1.LabelTopologyZone]
		}
	}
	p.rules.setPodCIDRs(cidrs)
	if len(p.opts.Nodes) == 1 {
		byNode = nil
	}
	loc := &p.rules.loc
	changed := zone != loc.zone || !maps.EqualFunc(byNode, loc.podCIDRs, slices.Equal[[]netip.Prefix])
	loc.zone, loc.podCIDRs = zone, byNode
	return changed
}

// markDirty enqueues a Service.
func (p *Proxy) markDirty(key string) {
	p.mu.Lock()
	p.dirty[key] = true
	p.mu.Unlock()
	p.signalChange()
}

// markNodesChanged records that a node of this machine has changed.
func (p *Proxy) markNodesChanged() {
	p.mu.Lock()
	p.nodesChanged = true
	p.mu.Unlock()
	p.signalChange()
}

func (p *Proxy) signalChange() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// lock waits until this process is the only proxy of the network namespace. It returns nil if ctx ends
// first. The lock is an abstract Unix socket, which belongs to the namespace and disappears with the process.
func (p *Proxy) lock(ctx context.Context) (unlock func(), err error) {
	for waiting := false; ; waiting = true {
		unlock, busy, err := tryLock()
		if err != nil {
			return nil, fmt.Errorf("locking the service proxy's rules: %w", err)
		}
		if !busy {
			return unlock, nil
		}
		if !waiting {
			p.opts.Log.Info("Another process is the service proxy of this machine; waiting until it ends")
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(retryDelay):
		}
	}
}
