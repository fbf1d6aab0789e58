//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/guard"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/settings"
)

// runGuard runs the pressure guard next to a kubelet.
func (f *agentFlags) runGuard(ctx context.Context, out io.Writer, config *rest.Config, loaded settings.Settings) error {
	if f.name == "" {
		return errors.New("--node-name: must be set to the name under which the kubelet registered this machine")
	}
	if os.Geteuid() != 0 {
		return errors.New("--guard: killing pods requires root")
	}
	if err := cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: "status"},
		"deploy/guard.yaml has the required role"); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	layout := guard.DetectLayout(host, f.local.cgroup)
	if !f.kubeletEvictionOff {
		k, err := guard.ReadKubeletConfig(ctx, client, f.name)
		if err != nil {
			return cli.WithExitCode(fmt.Errorf("%w: if the kubelet evicts only for disk signals, set --kubelet-eviction-off", err), cli.ExitConflict)
		}
		if err := k.Check(f.name); err != nil {
			return cli.WithExitCode(err, cli.ExitConflict)
		}
		layout = guard.Layout{Systemd: k.CgroupDriver == "systemd", Root: k.CgroupRoot}
	}
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(agent.NewEventSink(client))
	pressure := loaded.Kubelet.Pressure
	pressure.Options = loaded.Berth.Pressure.Options()
	logToStderr()
	g, err := guard.New(guard.Options{Node: f.name, Client: client, Host: host, Cgroup: "/", Layout: layout, Config: pressure, Log: klog.Background(),
		Events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "berth-guard", Host: f.name})})
	if err != nil {
		return err
	}
	cli.Printf(out, "Guard of node %s at %s, watching memory through %s. Press Ctrl-C to stop.\n", f.name, config.Host, g.Mechanism())
	return g.Run(ctx)
}
