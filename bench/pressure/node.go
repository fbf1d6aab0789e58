package main

import (
	"fmt"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// node is a node with idle pods. It runs hogs, as plain processes or as containers.
type node interface {
	pressure.Agent
	host() *cgroup.Host
	path() string
	podsPath() string
	stats() *stats.Pods
	capacity() (int64, error)
	evictedNames() []string           // names of the pods evicted so far
	startHog(rate int64) (hog, error) // rate is in bytes/s
	close() error
}

// hog is a pod that allocates memory until it is killed.
type hog interface {
	exited() <-chan struct{}
	oomKilled() (bool, error)
	remove() error
}

// processNode is a node of plain processes.
type processNode struct{ *fixtures.Node }

// newProcessNode creates a node with idle pods.
func newProcessNode(memory int64, pods int) (node, error) {
	n, err := fixtures.New(memory, 4096)
	if err != nil {
		return nil, err
	}
	p := processNode{n}
	for i := range pods - 1 {
		if err := p.startIdlePod(i, memory); err != nil {
			_ = n.Close()
			return nil, err
		}
	}
	return p, nil
}

// startIdlePod starts a pod that is not the hog. The pod with index 0 uses half of the node, within its request.
func (p processNode) startIdlePod(i int, memory int64) error {
	s := fixtures.Spec{Name: fmt.Sprint("idle-", i), Memory: "64Mi", Args: []string{"-memory=2Mi"}}
	switch {
	case i == 0:
		s = fixtures.Spec{Name: "large", Memory: fmt.Sprint(memory), Priority: 100, Args: []string{fmt.Sprint("-memory=", memory/2)}}
	case i%2 == 0:
		s.Memory = ""
	}
	pod, err := p.Run(s)
	if err == nil {
		err = pod.WaitForLine("memory done")
	}
	return err
}

func (p processNode) host() *cgroup.Host     { return p.Host }
func (p processNode) path() string           { return p.Path }
func (p processNode) podsPath() string       { return p.PodsPath() }
func (p processNode) stats() *stats.Pods     { return p.Stats }
func (p processNode) evictedNames() []string { return p.EvictedNames() }
func (p processNode) close() error           { return p.Close() }

func (p processNode) capacity() (int64, error) { return capacity(p.Host, p.Path) }

// capacity returns the memory capacity of a cgroup in bytes.
func capacity(h *cgroup.Host, path string) (int64, error) {
	g, err := h.Open(path)
	if err != nil {
		return 0, err
	}
	defer g.Close()
	return g.Capacity()
}

func (p processNode) startHog(rate int64) (hog, error) {
	pod, err := p.Run(fixtures.Spec{
		Name: "hog", Memory: "64Mi", OOMScoreAdj: 1000,
		Args: []string{"-memory=64Gi", fmt.Sprint("-memory-rate=", rate)},
	})
	return processHog{p, pod}, err
}

// processHog is a hog that is a plain process.
type processHog struct {
	node processNode
	pod  *fixtures.Pod
}

func (p processHog) exited() <-chan struct{} { return p.pod.Exited() }

func (p processHog) oomKilled() (bool, error) {
	return oomKilled(p.node.Host, p.node.Cgroup(p.pod.Object))
}

// oomKilled reports whether the kernel's OOM killer has killed a process of a cgroup.
func oomKilled(h *cgroup.Host, path string) (bool, error) {
	g, err := h.Open(path)
	if err != nil {
		return false, err
	}
	defer g.Close()
	kills, err := g.OOMKills()
	return kills > 0, err
}

func (p processHog) remove() error { return p.pod.Remove() }
