package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/berthproject/berth/berthtest"
)

// kinds are the compared clusters.
var kinds = []struct {
	name, title string
	// start starts a cluster and returns a client configuration and a function that stops it.
	start func(assets string) (*rest.Config, func() error, error)
}{
	{"berthtest", "`berthtest.Start`: API server, etcd, scheduler, controllers, 3 nodes", startBerthtest},
	{"envtest", "envtest: kube-apiserver, etcd", startEnvtest},
}

func startBerthtest(string) (*rest.Config, func() error, error) {
	t := &testRun{}
	var config *rest.Config
	done := make(chan struct{})
	go func() { // Fatal ends the goroutine
		defer close(done)
		config = berthtest.Start(t).Config
	}()
	<-done
	return config, t.end, t.err
}

func startEnvtest(assets string) (*rest.Config, func() error, error) {
	e := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := e.Start()
	return config, e.Stop, err
}

// run starts clusters of a kind twice and prints the result.
func run(name, assets string) error {
	for _, kind := range kinds {
		if kind.name != name {
			continue
		}
		var r result
		for _, duration := range []*time.Duration{&r.First, &r.Second} {
			from := time.Now()
			config, stop, err := kind.start(assets)
			if err == nil {
				err = list(config)
			}
			*duration = time.Since(from)
			if err == nil && duration == &r.First {
				r.MemoryKiB, r.Processes, err = memory(os.Getpid())
			}
			if stop != nil {
				err = errors.Join(err, stop())
			}
			if err != nil {
				return err
			}
		}
		var err error
		if r.CPU, err = cpuTime(); err != nil {
			return err
		}
		r.CPU /= 2
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	return fmt.Errorf("kind %q: must be berthtest or envtest", name)
}

// list sends a request, so that a cluster that has started also answers.
func list(config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{})
	return err
}

// testRun is the testing.TB of a cluster that runs outside of a test.
type testRun struct {
	testing.TB
	err      error
	cleanups []func()
	dirs     []string
}

func (t *testRun) Helper() {}

func (t *testRun) Context() context.Context { return context.Background() }

func (t *testRun) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *testRun) Errorf(format string, args ...any) { t.err = fmt.Errorf(format, args...) }

func (t *testRun) Fatalf(format string, args ...any) {
	t.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}

func (t *testRun) TempDir() string {
	dir, err := os.MkdirTemp("", "berthtest-")
	if err != nil {
		t.Fatalf("%w", err)
	}
	t.dirs = append(t.dirs, dir)
	return dir
}

// end ends the test.
func (t *testRun) end() error {
	for _, f := range t.cleanups {
		f()
	}
	err := t.err
	for _, dir := range t.dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
