package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// upOptions holds the flags of `berth up`.
type upOptions struct {
	server      apiserver.Options
	simulated   localnodes.Flags
	local       upLocalNodes
	services    upServices
	descheduler upDescheduler
	nodeIPAM    nodeIPAMFlags
	page        pageListener
	ephemeral   bool
	seed        uint64
	configs     []string
	journal     string
	inputsMiB   inputsMiB
}

func upCommand() *cobra.Command {
	o := upOptions{server: apiserver.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster: API server, scheduler, controllers and nodes",
		Long: `Runs an API server on an embedded etcd, the scheduler, the controllers and
simulated nodes in one process. The data is kept: the next start continues with
it. Press Ctrl-C to stop.

With --virtual-nodes or --real-node, pods run in containers: in containerd if it
is available, else in the embedded runtime (--runtime). If neither works, the
command fails. With --allow-simulated it prints a warning and uses simulated
nodes instead. Next to virtual or real nodes, the simulated nodes of --nodes
have the taint berth.dev/simulated:NoSchedule. The command removes virtual nodes
and their pods when it ends, and leftovers of a killed process at the next
start.`,
		Example: `  berth up
  berth up --nodes 1000 --ephemeral
  berth up --descheduler-policy policy.yaml
  berth up --virtual-nodes 2 --virtual-memory 2Gi --virtual-disk 2Gi
  berth up --openb-nodes openb_node_list_all_node.csv --data-dir ./openb
  berth kubectl get nodes`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := o.load(cmd)
			if err != nil {
				return err
			}
			return runUp(cmd.Context(), cmd.OutOrStdout(), o, loaded)
		},
	}
	f := cmd.Flags()
	addServerFlags(f, &o.server)
	f.IntVar(&o.simulated.Count, "nodes", 3, "number of simulated nodes (default: 3, or 0 with --real-node or --virtual-nodes)")
	f.Lookup("nodes").DefValue = "0" // the usage has the default
	o.simulated.AddFlags(f)
	o.local.addFlags(f)
	o.services.addFlags(f)
	o.descheduler.addFlags(f)
	o.page.addFlag(f, pageAddress)
	o.nodeIPAM.addFlags(f, "")
	f.StringVar(&o.simulated.Openb, "openb-nodes", "", "OpenB node list (CSV) to simulate")
	f.BoolVar(&o.ephemeral, "ephemeral", false, "keep no data after the command ends")
	f.Uint64Var(&o.seed, "seed", 0, "seed for the choice between nodes of equal score; overrides scheduler.seed of --config")
	settings.AddFlag(f, &o.configs)
	journalFlag(f, &o.journal, "journal in the data directory")
	o.inputsMiB.addFlag(f)
	return cmd
}

// load reads the configuration files, which flags override, and selects the nodes.
func (o *upOptions) load(cmd *cobra.Command) (settings.Settings, error) {
	if err := errors.Join(o.page.validate(), o.inputsMiB.validate()); err != nil {
		return settings.Settings{}, err
	}
	fields, err := o.local.kubelet.fields()
	if err != nil {
		return settings.Settings{}, err
	}
	s, err := settings.LoadOverridden(o.configs, fields)
	if err != nil {
		return s, err
	}
	if cmd.Flags().Changed("seed") {
		s.Berth.Scheduler.Seed = o.seed
	}
	localcluster.ApplySettings(&o.server, s, cmd.Flags().Changed)
	s.Berth.NodeIPAM.ServiceClusterIPRange = o.server.ServiceClusterIPRange
	if err := o.nodeIPAM.apply(&s.Berth.NodeIPAM); err != nil {
		return s, err
	}
	printWarnings(cmd.ErrOrStderr(), s.Kubelet.Warnings...)
	if err := o.prepareNodes(cmd.ErrOrStderr(), &s); err != nil {
		return s, err
	}
	if o.local.enabled() {
		o.server.PodNetwork = s.Berth.NodeIPAM.ClusterCIDR
		if !cmd.Flags().Changed("nodes") {
			o.simulated.Count = 0
		}
	}
	o.simulated.SizeSet = cmd.Flags().Changed("nodes") || cmd.Flags().Changed("node-cpu") || cmd.Flags().Changed("node-memory")
	return s, nil
}

// prepareNodes selects the real and virtual nodes and their directories. It prints a warning
// if it falls back to simulated nodes.
func (o *upOptions) prepareNodes(warnings io.Writer, loaded *settings.Settings) (err error) {
	if o.server.DataDir, err = filepath.Abs(o.server.DataDir); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	o.local.setDefaults(o.server.DataDir, o.ephemeral)
	if k := &loaded.Kubelet; k.LowDiskSpaceThresholdMB != nil && !o.local.flags.Changed(lowDiskFlag) {
		o.local.lowDisk = *k.LowDiskSpaceThresholdMB
	}
	if err := o.local.fallBackToSimulated(warnings, o.local.validate()); err != nil {
		return err
	}
	if err := o.services.prepare(&o.local, o.server.ServiceClusterIPRange, &loaded.Kubelet); err != nil {
		return err
	}
	o.local.addNetworkNotes(&loaded.Kubelet)
	return nil
}

func runUp(ctx context.Context, out io.Writer, o upOptions, loaded settings.Settings) error {
	started := time.Now()
	if err := o.descheduler.readPolicy(os.Stderr); err != nil {
		return err
	}
	nodes, err := o.buildSimulatedNodes(&loaded)
	if err != nil {
		return err
	}
	output := upOutput{w: out}
	dir, cleanup, err := prepareDataDir(&o)
	if err != nil {
		return err
	}
	defer cleanup()
	log, closeLog, err := logToFile(filepath.Join(dir, "berth.log"))
	if err != nil {
		return err
	}
	defer closeLog()
	server, err := newServer(ctx, o.server, os.Stderr)
	if err != nil {
		return err
	}
	if err := o.local.removeStaleNodes(ctx); err != nil {
		return err
	}
	if o.local.enabled() {
		defer localnodes.ReserveCPU(klog.Background())()
		localnodes.ReserveThreads()
	}
	journalPath := cmp.Or(o.journal, filepath.Join(dir, "journal"))
	closeJournal, err := o.openJournal(journalPath, &loaded, log)
	defer closeJournal()
	if err != nil {
		return err
	}
	return rungroup.Run(ctx, func(group *rungroup.Group) error {
		if err := localcluster.StartServer(group, server); err != nil {
			return err
		}
		otherNodes, err := o.startComponents(group, server, nodes, loaded, dir, &output, log)
		if err != nil {
			return err
		}
		if output.page, err = o.startPage(group, server, loaded, journalPath); err != nil {
			return err
		}
		if loaded.Inputs != nil {
			group.Start("recording of node pressure", func(ctx context.Context) error {
				return reports.RecordPressure(ctx, server.LoopbackConfig(), loaded.Inputs, log.slog)
			})
		}
		output.printStarted(&o, loaded, server, nodes, otherNodes, time.Since(started))
		return nil
	})
}

// buildSimulatedNodes returns the simulated nodes. Next to nodes that run containers they have a taint.
func (o *upOptions) buildSimulatedNodes(loaded *settings.Settings) ([]*corev1.Node, error) {
	nodes, err := o.simulated.BuildNodes(func(i int) string { return fmt.Sprintf("n%d", i+1) })
	if err != nil {
		return nil, err
	}
	localnodes.ApplyKubelet(nodes, &loaded.Kubelet, o.local.kubelet.labels)
	if o.local.enabled() {
		for _, n := range nodes {
			n.Spec.Taints = append(n.Spec.Taints, simulatedTaint)
		}
	}
	return nodes, nil
}

// openJournal opens the journal's parts. The caller must call closeJournal, also after an error.
func (o *upOptions) openJournal(dir string, loaded *settings.Settings, log *logFile) (closeJournal func(), err error) {
	closeJournal = func() {
		_ = errors.Join(loaded.Journal.Close(), loaded.Decisions.Close(), loaded.Inputs.Close())
	}
	if loaded.Journal, err = openJournal(dir, "up"); err != nil {
		return closeJournal, err
	}
	if loaded.Decisions, err = openDecisions(dir, "up"); err != nil {
		return closeJournal, err
	}
	loaded.Inputs, err = o.inputsMiB.open(dir, "up", log.slog)
	return closeJournal, err
}

// startComponents starts everything but the API server and waits until the nodes accept
// pods. It returns the number of other nodes in the cluster.
func (o *upOptions) startComponents(group *rungroup.Group, server *apiserver.Server, nodes []*corev1.Node, loaded settings.Settings, dir string, output *upOutput, log *logFile) (otherNodes int, err error) {
	config := server.LoopbackConfig()
	if err := output.listen(); err != nil {
		return 0, err
	}
	plane := localcluster.ControlPlane{Settings: loaded, SchedulerListener: output.schedulerListener, ControllersListener: output.controllersListener, Log: log.slog,
		OnStatusServer: func(status *controllermanager.StatusServer) error {
			return o.descheduler.start(group, config, loaded, status)
		}}
	if err := plane.Start(group, server); err != nil {
		return 0, err
	}
	if err := o.startSimulatedNodes(group, server, nodes, loaded); err != nil {
		return 0, err
	}
	if err := o.services.start(group, config, &o.local, &loaded); err != nil {
		return 0, err
	}
	if err := o.local.start(group, server, loaded); err != nil {
		return 0, err
	}
	if otherNodes, err = localnodes.WaitForNodes(group.Ctx, config, nodes, o.local.nodeNames()); err != nil {
		return 0, err
	}
	return otherNodes, localcluster.StartDefaultStorage(group, config, dir)
}

// startSimulatedNodes starts the simulated nodes, and adopts those that other clients create.
func (o *upOptions) startSimulatedNodes(group *rungroup.Group, server *apiserver.Server, nodes []*corev1.Node, loaded settings.Settings) error {
	simulated, err := localcluster.NewSimulatedNodes(server, loaded)
	if err != nil {
		return err
	}
	managed := o.local.nodeNames()
	for _, n := range nodes {
		managed = append(managed, n.Name)
	}
	if err := simulated.Start(group, nodes); err != nil {
		return err
	}
	simulated.Adopt(group, managed)
	return nil
}

// prepareDataDir creates the data directory. With --ephemeral it creates a temporary one
// and keeps only the kubeconfig in the data directory, which it locks because another
// cluster may use it.
func prepareDataDir(o *upOptions) (dir string, cleanup func(), err error) {
	if err := os.MkdirAll(o.server.DataDir, 0o700); err != nil {
		return "", nil, fmt.Errorf("--data-dir %s: %w", o.server.DataDir, err)
	}
	if !o.ephemeral {
		return o.server.DataDir, func() { unmountVolumes(o.server.DataDir, false) }, nil
	}
	existing, _ := os.ReadDir(o.server.DataDir)
	lock, err := store.Lock(o.server.DataDir)
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", "berth-ephemeral-"); err != nil {
		_ = lock.Close()
		return "", nil, err
	}
	o.server.Kubeconfig = cli.KubeconfigPath(o.server.DataDir)
	o.server.DataDir = dir
	return dir, func() {
		_ = os.Remove(o.server.Kubeconfig)
		unmountVolumes(dir, true)
		_ = os.RemoveAll(dir)
		if len(existing) == 0 { // the directory was created for the lock
			_ = os.Remove(lock.Name())
		}
		_ = lock.Close()
	}, nil
}
