package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/berthproject/berth/parity/workload"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubescheduler FILE   (a workload.Workload; parity/bench creates it)")
		os.Exit(2)
	}
	klog.SetLogger(logr.Discard())
	r, err := measure(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubescheduler:", err)
		os.Exit(1)
	}
}

func measure(file string) (*workload.Result, error) {
	w, err := workload.Read(file)
	if err != nil {
		return nil, err
	}
	s, err := newStore(w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := start(ctx, w, s); err != nil {
		return nil, err
	}
	if err := s.arrive(ctx, 0, w.Warm); err != nil {
		return nil, err
	}
	r := &workload.Result{Pods: len(w.Pods) - w.Warm}
	s.resetCounters()
	before, err := readMeters()
	if err != nil {
		return nil, err
	}
	if err := s.arriveAll(ctx); err != nil {
		return nil, err
	}
	after, err := readMeters()
	if err != nil {
		return nil, err
	}
	after.since(before, r)
	s.finish(r)
	return r, measureMemory(r)
}

// start starts a scheduler with the store. It runs until ctx is done.
func start(ctx context.Context, w *workload.Workload, s *store) error {
	cfg, err := latest.Default()
	if err != nil {
		return err
	}
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, service := range w.Services {
		objects = append(objects, service)
	}
	client := &client{Interface: fake.NewSimpleClientset(objects...), store: s}
	factory := informers.NewSharedInformerFactory(client, 0)
	useTable(factory, &corev1.Pod{}, s.pods)
	useTable(factory, &corev1.Node{}, s.nodes)
	metrics.Register()
	sched, err := scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(&w.Percentage),
		scheduler.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	go sched.Run(ctx)
	return nil
}

// useTable makes an informer of the factory read from a table.
func useTable(factory informers.SharedInformerFactory, example runtime.Object, t *table) {
	factory.InformerFor(example, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(t, example, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
}
