//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/pause"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/demo"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/table"
)

const (
	// demoImage is the image of demo pods.
	demoImage = store.TestProgramImage
	// largeImageBytes is the size of the image that no pod uses after the first pull.
	largeImageBytes = 192 << 20
	// demoLowDisk is the disk reserve of the nodes in MiB, well below their eviction thresholds.
	demoLowDisk = 32
	// cleanupTimeout bounds the removal of leftovers of an earlier demo.
	cleanupTimeout = time.Minute
	// registryReadTimeout bounds the reading of request headers by the registry.
	registryReadTimeout = 5 * time.Second
)

// findSimulatedReason returns why the nodes must be simulated; empty if they need not be.
func (c *demoNodeSet) findSimulatedReason() string {
	errs := []error{embedded.CheckRequirements(), virtualnode.CheckRequirements()}
	if c.cluster.credential == nil {
		errs = append(errs, fmt.Errorf("CA key of the cluster at %s: not on this machine", c.cluster.config.Host))
	}
	if err := errors.Join(errs...); err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return ""
}

// prepareVirtualNodes removes leftovers of an earlier demo and serves the large image.
func (c *demoNodeSet) prepareVirtualNodes(ctx context.Context) (err error) {
	if c.pool, err = virtualnode.NewPool(c.dir.nodesDir()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	if err := c.pool.Cleanup(ctx); err != nil {
		return fmt.Errorf("removing leftovers of an earlier demo: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(stdlog.New(io.Discard, "", 0))), ReadHeaderTimeout: registryReadTimeout}
	go func() { _ = server.Serve(listener) }()
	c.close = func() { _ = server.Close() }
	c.registry = listener.Addr().String()
	if c.largeImage, err = pushLargeImage(c.registry); err != nil {
		c.close()
	}
	return err
}

// pushLargeImage pushes an image with the pause program and largeImageBytes of data to a
// registry on loopback.
func pushLargeImage(address string) (string, error) {
	program, err := pause.Program()
	if err != nil {
		return "", err
	}
	image, err := oci.Build(oci.Spec{Entrypoint: []string{"/pause"},
		Layers: [][]oci.File{{{Path: "/pause", Mode: 0o755, Data: program}, {Path: "/ballast", Mode: 0o644, Data: bytes.Repeat([]byte("berth"), largeImageBytes/5)}}}})
	if err != nil {
		return "", err
	}
	ref, err := name.ParseReference(address + "/demo/ballast:1")
	if err != nil {
		return "", err
	}
	return ref.Name(), remote.Write(ref, image)
}

func (c *demoNodeSet) startVirtualNodes(group *rungroup.Group) error {
	for i, node := range c.names {
		config, err := c.cluster.credential(pki.Node(node))
		if err != nil {
			return err
		}
		o := nodeagent.Options{Name: node, Config: config, LowDiskMiB: demoLowDisk, PodCIDRTimeout: podCIDRTimeout(config, c.settings), Labels: map[string]string{demo.Label: "true"}, Taints: []corev1.Taint{demo.Taint}, InsecureRegistries: []string{c.registry},
			Embedded: &nodeagent.Embedded{}, Nodes: c.settings.Berth.Nodes, Kubelet: c.settings.Kubelet, Pressure: c.settings.Berth.Pressure.Options(), Log: klog.Background()}
		size := virtualnode.Options{Index: i, Memory: demoMemory, Disk: demoDisk}
		group.Start("node "+node, func(ctx context.Context) error { return nodeagent.RunVirtual(ctx, c.pool, size, o) })
	}
	return nil
}

func (c *demoNodeSet) printVirtualSummary(out io.Writer) {
	fmt.Fprint(out, table.Wrap(fmt.Sprintf("Three virtual nodes on this machine: %s, each with %dMi of memory and of disk.\nPods run as processes in the embedded runtime: containment, not a security boundary.\n",
		strings.Join(c.names, ", "), demoMemory>>20)))
}
