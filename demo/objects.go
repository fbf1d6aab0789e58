package demo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/nodepressure/usage"
)

const mib = 1 << 20

type deployment struct {
	name          string
	replicas      int32
	memory        int64  // bytes of memory that each pod requests
	usage         int64  // bytes of memory that each pod uses
	spread        bool   // over the nodes, as evenly as possible
	softSpread    bool   // as a preference
	priority      string // priority class
	preferredNode string
	image         string // instead of Options.Image; runs without arguments
	port          int32  // port of the pods; 0 for none
}

func (s *session) createDeployment(ctx context.Context, t deployment) error {
	labels := map[string]string{"app": t.name}
	gracePeriodSeconds, mountToken := int64(5), false
	spec := corev1.PodSpec{
		NodeSelector:                  map[string]string{Label: "true"},
		Tolerations:                   []corev1.Toleration{{Key: Taint.Key, Operator: corev1.TolerationOpExists}},
		TerminationGracePeriodSeconds: &gracePeriodSeconds, AutomountServiceAccountToken: &mountToken,
		PriorityClassName: t.priority,
		Containers:        []corev1.Container{s.newContainer(t)},
	}
	if spec.PriorityClassName == "" {
		spec.PriorityClassName = lowClass
	}
	if t.spread {
		whenUnsatisfiable := corev1.DoNotSchedule
		if t.softSpread {
			whenUnsatisfiable = corev1.ScheduleAnyway
		}
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
			WhenUnsatisfiable: whenUnsatisfiable, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	}
	if t.preferredNode != "" {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{t.preferredNode}}}}}}}}
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: t.name}, Spec: appsv1.DeploymentSpec{
		Replicas: &t.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels,
			Annotations: map[string]string{usage.Annotation: fmt.Sprintf("memory=%d", t.usage)}}, Spec: spec}}}
	_, err := s.client.AppsV1().Deployments(Namespace).Create(ctx, d, metav1.CreateOptions{})
	return err
}

// newContainer returns the container: a program that uses memory and listens. On simulated nodes a
// usage script states the same usage.
func (s *session) newContainer(t deployment) corev1.Container {
	c := corev1.Container{Name: "main", Image: s.Image, Args: []string{fmt.Sprintf("-memory=%d", t.usage)},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: *resource.NewQuantity(t.memory, resource.BinarySI)}}}
	if t.image != "" {
		c.Image, c.Args = t.image, nil
	}
	if t.port > 0 {
		c.Args = append(c.Args, fmt.Sprintf("-listen=:%d", t.port))
		c.Ports = []corev1.ContainerPort{{ContainerPort: t.port}}
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(t.port)}}}
	}
	return c
}

func (s *session) scale(ctx context.Context, name string, replicas int32) error {
	deployments := s.client.AppsV1().Deployments(Namespace)
	scale, err := deployments.GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = replicas
	_, err = deployments.UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
	return err
}

// createBudget creates a budget with a maximum of unavailable pods, and waits until its status allows them.
func (s *session) createBudget(ctx context.Context, app string, maxUnavailable int32) error {
	n := intstr.FromInt32(maxUnavailable)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	budgets := s.client.PolicyV1().PodDisruptionBudgets(Namespace)
	if _, err := budgets.Create(ctx, b, metav1.CreateOptions{}); err != nil {
		return err
	}
	return s.pods.waitFor(ctx, func() string {
		budget, err := budgets.Get(ctx, app, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if budget.Status.ObservedGeneration < budget.Generation || budget.Status.DisruptionsAllowed < maxUnavailable {
			return fmt.Sprintf("budget %s allows %d", app, budget.Status.DisruptionsAllowed)
		}
		return ""
	})
}
