package localcluster

import (
	"context"
	"fmt"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/volume/localprovisioner"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/rungroup"
)

// VolumesDir is the directory of provisioned volumes, relative to the data directory.
const VolumesDir = "volumes"

// StartProvisioner starts the controller that provisions volumes as directories below
// root.
func StartProvisioner(group *rungroup.Group, config *rest.Config, root string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	group.Start("volume provisioner", func(ctx context.Context) error {
		return localprovisioner.Run(ctx, client, root, klog.Background())
	})
	return nil
}

// StartDefaultStorage creates the default StorageClass unless it exists, and starts its
// provisioner. Volumes are below the data directory dir.
func StartDefaultStorage(group *rungroup.Group, config *rest.Config, dir string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Create(group.Ctx, localprovisioner.Class(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("storageclass %s: %w", localprovisioner.ClassName, err)
	}
	return StartProvisioner(group, cli.Impersonate(config, pki.Component("local-directory").Name), filepath.Join(dir, VolumesDir))
}
