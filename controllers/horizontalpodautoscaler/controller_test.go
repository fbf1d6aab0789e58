package horizontalpodautoscaler

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	fakescale "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	fakemetrics "k8s.io/metrics/pkg/client/clientset/versioned/fake"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
	fakeexternal "k8s.io/metrics/pkg/client/external_metrics/fake"

	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

// env is a Deployment with pods that use a part of their CPU request.
type env struct {
	*workloadtest.Env
	replicas   atomic.Int32
	cpuUsage   atomic.Int32                           // of each pod, in millicores; it requests 100; negative: no metrics
	failUpdate atomic.Bool                            // updates of the scale fail
	custom     custom_metrics.CustomMetricsClient     // nil: no such API
	external   external_metrics.ExternalMetricsClient // nil: no such API
	mapper     *countingMapper                        // nil: a static one
	versions   *countingVersions                      // of custom.metrics.k8s.io; may be nil
}

func run(t *testing.T, test func(s *env)) {
	(&env{}).run(t, test)
}

func (s *env) run(t *testing.T, test func(s *env)) {
	controllers := []workloadtest.Controller{func(ctx context.Context, e *workloadtest.Env, factory informers.SharedInformerFactory) error {
		return Run(ctx, e.Process(factory), s.clients(e))
	}}
	workloadtest.Run(t, controllers, func(e *workloadtest.Env) {
		s.Env = e
		s.replicas.Store(2)
		s.cpuUsage.Store(50)
		for i := range 2 {
			s.addPod(fmt.Sprint("p", i))
		}
		s.Settle(10 * time.Minute) // longer than the startup period of the pods
		test(s)
	})
}

// clients returns clients of a fake API in which the Deployment d has the replicas and the CPU usage of s.
func (s *env) clients(e *workloadtest.Env) Clients {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion})
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	scales := &fakescale.FakeScaleClient{}
	scales.AddReactor("get", "deployments", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if name := a.(clienttesting.GetAction).GetName(); name != "d" {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, name)
		}
		return true, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: s.replicas.Load()}, Status: autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=d"}}, nil
	})
	scales.AddReactor("update", "deployments", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if s.failUpdate.Load() {
			return true, nil, apierrors.NewInternalError(fmt.Errorf("injected"))
		}
		updated := a.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		s.replicas.Store(updated.Spec.Replicas)
		return true, updated, nil
	})
	metrics := &fakemetrics.Clientset{}
	metrics.AddReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &metricsv1beta1.PodMetricsList{}
		for _, p := range e.Pods() {
			if usage := s.cpuUsage.Load(); usage >= 0 {
				list.Items = append(list.Items, metricsv1beta1.PodMetrics{ObjectMeta: p.ObjectMeta, Timestamp: metav1.Now(), Containers: []metricsv1beta1.ContainerMetrics{
					{Name: "c", Usage: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(usage), resource.DecimalSI)}},
				}})
			}
		}
		return true, list, nil
	})
	external := &fakeexternal.FakeExternalMetricsClient{}
	external.AddReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Group: "external.metrics.k8s.io", Resource: a.GetResource().Resource}, "", "", 0, true)
	})
	out := Clients{Mapper: mapper, Scales: scales, Resource: metrics.MetricsV1beta1(), External: external,
		Custom: custom_metrics.NewForConfig(&rest.Config{}, mapper, custom_metrics.NewAvailableAPIsGetter(e.Discovery()))}
	if s.custom != nil {
		out.Custom = s.custom
	}
	if s.external != nil {
		out.External = s.external
	}
	if s.mapper != nil {
		out.Mapper = s.mapper
	}
	if s.versions != nil {
		out.CustomVersions = s.versions
	}
	return out
}

func (s *env) addPod(name string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workloadtest.Namespace, Labels: map[string]string{"app": "d"}}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}}}
	p.Status.StartTime = &metav1.Time{Time: time.Now()}
	if _, err := s.CoreV1().Pods(p.Namespace).Create(s.Context(), p, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// createAutoscaler creates an autoscaler of 1 to 10 replicas with a target of 50 % CPU.
func (s *env) createAutoscaler(edit func(*autoscalingv2.HorizontalPodAutoscaler)) {
	s.Helper()
	percent := int32(50)
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: workloadtest.Namespace, Generation: 3}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MaxReplicas: 10, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}}}},
	}}
	if edit != nil {
		edit(h)
	}
	if _, err := s.AutoscalingV2().HorizontalPodAutoscalers(h.Namespace).Create(s.Context(), h, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// check checks the replicas of the target and the conditions of the autoscaler h, as TYPE=STATUS/REASON. It returns h.
func (s *env) check(replicas int32, conditions ...string) *autoscalingv2.HorizontalPodAutoscaler {
	s.Helper()
	h, err := s.AutoscalingV2().HorizontalPodAutoscalers(workloadtest.Namespace).Get(s.Context(), "h", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	var got []string
	for _, c := range h.Status.Conditions {
		got = append(got, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	if n := s.replicas.Load(); n != replicas || strings.Join(got, " ") != strings.Join(conditions, " ") {
		s.Errorf("%d replicas, %s; want %d, %s", n, got, replicas, conditions)
	}
	return h
}

const (
	scalingActive     = "ScalingActive=True/ValidMetricFound"
	withinRange       = "ScalingLimited=False/DesiredWithinRange"
	readyForNewScale  = "AbleToScale=True/ReadyForNewScale"
	succeededRescale  = "AbleToScale=True/SucceededRescale"
	succeededGetScale = "AbleToScale=True/SucceededGetScale"
)

func TestScaleUpAndDown(t *testing.T) {
	run(t, func(s *env) {
		s.createAutoscaler(nil)
		s.Settle(time.Second)
		h := s.check(2, readyForNewScale, scalingActive, withinRange)
		if m := h.Status.CurrentMetrics[0].Resource.Current; *m.AverageUtilization != 50 || m.AverageValue.String() != "50m" || *h.Status.ObservedGeneration != 3 || h.Status.DesiredReplicas != 2 {
			s.Errorf("status %+v, want a utilization of 50 %% and generation 3", h.Status)
		}
		s.cpuUsage.Store(90)
		s.Settle(syncPeriod)
		if h := s.check(4, succeededRescale, scalingActive, withinRange); h.Status.LastScaleTime == nil || s.EventCount("SuccessfulRescale") != 1 {
			s.Errorf("%d events, want 1; status %+v, want a scale time", s.EventCount("SuccessfulRescale"), h.Status)
		}
		s.cpuUsage.Store(50)
		s.addPod("p2")
		s.addPod("p3")
		s.Settle(time.Minute)
		s.check(4, readyForNewScale, scalingActive, withinRange)
		s.cpuUsage.Store(20)
		s.Settle(2 * time.Minute)
		s.check(4, "AbleToScale=True/ScaleDownStabilized", scalingActive, withinRange)
		s.Settle(5 * time.Minute)
		if n := s.replicas.Load(); n != 2 {
			s.Errorf("%d replicas after the stabilization window, want 2", n)
		}
	})
}

func TestLimitsWithoutMetrics(t *testing.T) {
	run(t, func(s *env) {
		s.cpuUsage.Store(-1)
		s.createAutoscaler(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = new(int32(3)) })
		s.Settle(time.Second)
		s.check(3, succeededRescale)
		s.Settle(syncPeriod)
		h := s.check(3, succeededGetScale, "ScalingActive=False/FailedGetResourceMetric")
		const want = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API"
		if got := h.Status.Conditions[1].Message; got != want || s.EventCount("FailedGetResourceMetric") == 0 {
			s.Errorf("message %q, %d events, want %q and an event", got, s.EventCount("FailedGetResourceMetric"), want)
		}
		s.replicas.Store(0)
		s.Settle(syncPeriod)
		s.check(0, succeededGetScale, "ScalingActive=False/ScalingDisabled")
	})
}

func TestFailuresAreReported(t *testing.T) {
	value := resource.MustParse("1")
	for reason, c := range map[string]struct {
		edit    func(*autoscalingv2.HorizontalPodAutoscaler)
		message string
	}{
		"FailedGetScale": {func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "x" },
			`the HPA controller was unable to get the target's current scale: deployments.apps "x" not found`},
		"FailedGetPodsMetric": {func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "m"}, Target: autoscalingv2.MetricTarget{AverageValue: &value}}}}
		}, "no custom metrics API (custom.metrics.k8s.io) registered"},
		"FailedGetObjectMetric": {func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "s"},
				Metric:          autoscalingv2.MetricIdentifier{Name: "m"}, Target: autoscalingv2.MetricTarget{Value: &value}}}}
		}, "no custom metrics API (custom.metrics.k8s.io) registered"},
		"FailedGetExternalMetric": {func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "m"}, Target: autoscalingv2.MetricTarget{Value: &value}}}}
		}, "unable to fetch metrics from external metrics API: the server could not find the requested resource"},
		"FailedGetContainerResourceMetric": {func(h *autoscalingv2.HorizontalPodAutoscaler) {
			target := h.Spec.Metrics[0].Resource.Target
			h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: corev1.ResourceCPU, Container: "x", Target: target}}}
		}, "container x not present in metrics for pod ns/p0"},
	} {
		run(t, func(s *env) {
			s.cpuUsage.Store(100)
			s.createAutoscaler(c.edit)
			s.Settle(time.Second)
			h, err := s.AutoscalingV2().HorizontalPodAutoscalers(workloadtest.Namespace).Get(s.Context(), "h", metav1.GetOptions{})
			if err != nil {
				s.Fatal(err)
			}
			last := h.Status.Conditions[len(h.Status.Conditions)-1]
			if last.Status != "False" || last.Reason != reason || !strings.Contains(last.Message, c.message) || s.EventCount(reason) != 1 || s.replicas.Load() != 2 {
				s.Errorf("%s: %d events, last condition %+v, want one event and the message %q", reason, s.EventCount(reason), last, c.message)
			}
		})
	}
}

// TestFailedUpdateIsRetried checks that a failed update of a target's scale is retried.
func TestFailedUpdateIsRetried(t *testing.T) {
	run(t, func(s *env) {
		s.cpuUsage.Store(100)
		s.failUpdate.Store(true)
		s.createAutoscaler(nil)
		s.Settle(time.Second)
		if h := s.check(2, "AbleToScale=False/FailedUpdateScale", scalingActive, withinRange); h.Status.DesiredReplicas != 2 || s.EventCount("FailedRescale") != 1 {
			s.Errorf("status %+v, %d events, want 2 desired replicas and one event", h.Status, s.EventCount("FailedRescale"))
		}
		s.failUpdate.Store(false)
		s.Settle(syncPeriod)
		s.check(4, succeededRescale, scalingActive, withinRange)
	})
}

// TestAutoscalersOfSamePodsDoNotScale checks that autoscalers that select the same pods do not scale.
func TestAutoscalersOfSamePodsDoNotScale(t *testing.T) {
	run(t, func(s *env) {
		s.createAutoscaler(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = "other" })
		s.Settle(time.Second)
		s.cpuUsage.Store(100)
		s.createAutoscaler(nil)
		s.Settle(time.Second)
		h := s.check(2, succeededGetScale, "ScalingActive=False/AmbiguousSelector")
		if want := "pods by selector app=d are controlled by multiple HPAs: [ns/h ns/other]"; h.Status.Conditions[1].Message != want {
			s.Errorf("message %q, want %q", h.Status.Conditions[1].Message, want)
		}
		if err := s.AutoscalingV2().HorizontalPodAutoscalers(workloadtest.Namespace).Delete(s.Context(), "other", metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Settle(syncPeriod)
		s.check(4, succeededRescale, scalingActive, withinRange)
	})
}

// TestStateOfDeletedAutoscalerIsRemoved checks that the state of a deleted autoscaler is removed. Its selector
// would make those of other autoscalers ambiguous.
func TestStateOfDeletedAutoscalerIsRemoved(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	c := &controller{autoscalers: factory.Autoscaling().V2().HorizontalPodAutoscalers().Lister(), states: map[types.NamespacedName]*autoscalerState{}}
	key := types.NamespacedName{Namespace: "ns", Name: "h"}
	c.stateOf(key, "1")
	if _, err := c.sync(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if len(c.states) != 0 {
		t.Errorf("states %v, want none", c.states)
	}
}

type countingMapper struct {
	meta.RESTMapper
	resets atomic.Int32
}

func (m *countingMapper) Reset() { m.resets.Add(1) }

type countingVersions struct {
	custom_metrics.AvailableAPIsGetter
	invalidations atomic.Int32
}

func (v *countingVersions) Invalidate() { v.invalidations.Add(1) }

// TestDiscoveryExpires checks that discovery data is invalidated every discoveryTTL.
func TestDiscoveryExpires(t *testing.T) {
	mapper, versions := &countingMapper{}, &countingVersions{}
	s := &env{mapper: mapper, versions: versions}
	s.run(t, func(s *env) {
		resets, invalidations := mapper.resets.Load(), versions.invalidations.Load()
		s.Settle(3 * discoveryTTL)
		if n, i := mapper.resets.Load()-resets, versions.invalidations.Load()-invalidations; n != 3 || i != 3 {
			s.Errorf("%d resets and %d invalidations in %v, want 3 of each", n, i, 3*discoveryTTL)
		}
	})
}
