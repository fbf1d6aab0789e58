package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
)

// measure starts an API server with count definitions and prints a row of the table. settle is the time
// before each measurement.
func measure(ctx context.Context, count int, settle time.Duration, profile string) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL")); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "berth-definitions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	o := apiserver.DefaultOptions()
	o.DataDir, o.Listen = dir, "127.0.0.1:0"
	server, err := apiserver.New(ctx, o)
	if err != nil {
		stop()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
	case err := <-ended:
		stop()
		return errors.Join(errors.New("the API server ended before it was ready"), err)
	}
	defer func() { stop(); _ = <-ended }()
	properties, err := createDefinitions(ctx, server, count)
	if err != nil {
		return err
	}
	afterCreate, err := measureMemory(ctx, settle)
	if err != nil {
		return err
	}
	if err := requestObjects(ctx, server, count); err != nil {
		return err
	}
	afterRequests, err := measureMemory(ctx, settle)
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %d | %s | %s |\n", count, properties, afterCreate, afterRequests)
	return writeProfile(profile)
}

// measureMemory waits for settle and returns two cells of the table: the resident memory and the heap in
// use, in MB. Before, a garbage collection returns free memory to the system, so that the result does not
// depend on when the last collection ran.
func measureMemory(ctx context.Context, settle time.Duration) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(settle):
	}
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kb, err := strconv.Atoi(fields[1])
			return fmt.Sprintf("%d | %d", kb/1024, stats.HeapInuse>>20), err
		}
	}
	return "", errors.New("/proc/self/status: no line VmRSS")
}

// createDefinitions creates definitions, waits until they are established, and returns the total number
// of their properties.
func createDefinitions(ctx context.Context, server *apiserver.Server, count int) (int, error) {
	client, err := clientset.NewForConfig(server.LoopbackConfig())
	if err != nil {
		return 0, err
	}
	definitions, properties := client.ApiextensionsV1().CustomResourceDefinitions(), 0
	for i := range count {
		size := 100 + 400*i/max(count-1, 1)
		properties += size
		if _, err := definitions.Create(ctx, newDefinition(i, size), metav1.CreateOptions{}); err != nil {
			return 0, err
		}
	}
	for i := range count {
		for {
			d, err := definitions.Get(ctx, definitionName(i), metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			if isEstablished(d) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return properties, nil
}

func isEstablished(d *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range d.Status.Conditions {
		if string(c.Type) == string(apiextensions.Established) && c.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}
	return false
}

// requestObjects lists the objects of each definition, which creates their storage.
func requestObjects(ctx context.Context, server *apiserver.Server, count int) error {
	client, err := dynamic.NewForConfig(jsonConfig(server))
	if err != nil {
		return err
	}
	for i := range count {
		resource := schema.GroupVersionResource{Group: group(i), Version: "v1", Resource: plural(i)}
		for attempt := 0; ; attempt++ {
			_, err := client.Resource(resource).Namespace("default").List(ctx, metav1.ListOptions{})
			if err == nil {
				break
			}
			if attempt == 100 {
				return err
			}
			time.Sleep(100 * time.Millisecond) // a definition is served 5 s after its creation
		}
	}
	return nil
}

// writeProfile writes a heap profile to a file, unless its name is empty.
func writeProfile(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
