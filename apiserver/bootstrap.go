package apiserver

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/rules"
)

var systemNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// bootstrap makes what is missing; what exists is left as it is, whoever made it.
func bootstrap(ctx context.Context, client kubernetes.Interface, serviceIP string, port int) error {
	for _, name := range systemNamespaces {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making namespace %s: %w", name, err)
		}
	}
	for _, class := range rules.SystemPriorityClasses() {
		_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making priority class %s: %w", class.Name, err)
		}
	}
	err := ensureKubernetes(ctx, client, serviceIP, port)
	if apierrors.IsInvalid(err) {
		klog.ErrorS(err, "Pods do not find the API server by its Service; it is tried again", "every", kubernetesEvery)
		return nil
	}
	return err
}

// kubernetesEvery is how often the Service of this server is looked after.
const kubernetesEvery = 10 * time.Second

// keepKubernetes makes the Service of this server again when somebody has deleted it, until ctx ends.
func keepKubernetes(ctx context.Context, client kubernetes.Interface, ip string, port int) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := ensureKubernetes(ctx, client, ip, port); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Pods do not find the API server by its Service; it is tried again", "every", kubernetesEvery)
		}
	}, kubernetesEvery)
}

// ensureKubernetes makes the Service by which pods find this server, or leads it to where the server listens now.
func ensureKubernetes(ctx context.Context, client kubernetes.Interface, ip string, port int) error {
	services := client.CoreV1().Services(metav1.NamespaceDefault)
	want := kubernetesService(ip, port)
	have, err := services.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = services.Create(ctx, want, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
	case err == nil && (len(have.Spec.Ports) != 1 || have.Spec.Ports[0].TargetPort != want.Spec.Ports[0].TargetPort):
		have = have.DeepCopy()
		have.Spec.Ports = want.Spec.Ports
		_, err = services.Update(ctx, have, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("making service default/kubernetes: %w", err)
	}
	return nil
}

// kubernetesService is how pods find this server; port is where it listens.
func kubernetesService(ip string, port int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "kubernetes",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:       ip,
			SessionAffinity: corev1.ServiceAffinityNone,
			Type:            corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(int32(port)),
			}},
		},
	}
}
