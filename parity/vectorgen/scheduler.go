package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// gates guards the feature gates of the process while a scheduler reads them.
var gates sync.RWMutex

// testScheduler is a scheduler whose caches hold the objects of one vector.
type testScheduler struct {
	*scheduler.Scheduler
	factory informers.SharedInformerFactory
	cancel  context.CancelFunc
	// pod is the pending pod.
	pod *corev1.Pod
}

// start creates a scheduler for the vector and waits until its caches have all objects.
func (v *vector) start() (context.Context, *testScheduler, error) {
	if len(v.FeatureGates) == 0 {
		gates.RLock()
		defer gates.RUnlock()
	} else {
		gates.Lock()
		defer gates.Unlock()
	}
	restore, err := v.setGates()
	defer restore()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := v.configuration()
	if err != nil {
		return nil, nil, err
	}
	objects, pod, err := v.decode()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	client := fake.NewSimpleClientset(objects...)
	percentage := int32(100)
	factory := scheduler.NewInformerFactory(client, 0)
	s, err := scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithPercentageOfNodesToScore(&percentage), // Berth does not sample
		scheduler.WithParallelism(1),
		scheduler.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"))
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("scheduler: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, &testScheduler{Scheduler: s, factory: factory, cancel: cancel, pod: pod}, nil
}

func (s *testScheduler) stop() {
	s.cancel()
	_ = s.Profiles.Close()
	s.SchedulingQueue.Close()
	s.factory.Shutdown()
}

func (v *vector) configuration() (*config.KubeSchedulerConfiguration, error) {
	if len(v.Config) == 0 {
		return latest.Default()
	}
	o, _, err := configscheme.Codecs.UniversalDecoder().Decode(v.Config, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	cfg, ok := o.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("config: %T is not a KubeSchedulerConfiguration", o)
	}
	return cfg, nil
}

// decode reads the objects. A pod that is passed directly is omitted, because the
// scheduler would treat it as an assigned pod.
func (v *vector) decode() (objects []runtime.Object, pod *corev1.Pod, err error) {
	decoder := clientscheme.Codecs.UniversalDeserializer()
	for i, raw := range v.Objects {
		o, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if p, ok := o.(*corev1.Pod); ok {
			setPodDefaults(p)
			if p.Namespace+"/"+p.Name == v.Pod {
				pod = p
				if v.Direct {
					continue
				}
			}
			if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue // as the field selector of the scheduler does
			}
		}
		objects = append(objects, o)
	}
	if pod == nil {
		return nil, nil, fmt.Errorf("pod %q is not among the objects", v.Pod)
	}
	return objects, pod, nil
}

// setPodDefaults sets the defaults of the API server that the vectors omit.
func setPodDefaults(p *corev1.Pod) {
	if p.UID == "" {
		p.UID = types.UID(p.Namespace + "/" + p.Name)
	}
	if p.Spec.SchedulerName == "" {
		p.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
}

// setGates sets the feature gates of the vector, which a scheduler reads when it is created. It
// returns a function that resets them.
func (v *vector) setGates() (restore func(), err error) {
	previous := map[string]bool{}
	features := utilfeature.DefaultMutableFeatureGate.GetAll()
	for name := range v.FeatureGates {
		for feature := range features {
			if string(feature) == name {
				previous[name] = utilfeature.DefaultFeatureGate.Enabled(feature)
			}
		}
	}
	restore = func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(previous) }
	if len(v.FeatureGates) == 0 {
		return restore, nil
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(v.FeatureGates); err != nil {
		return restore, fmt.Errorf("featureGates %s: %w", compact(v.FeatureGates), err)
	}
	return restore, nil
}
