package apiserver

import (
	"context"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	encryptioncontroller "k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"
)

// configureEncryption loads the EncryptionConfiguration and makes the stores of c encrypt with it.
// The connections to KMS plugins end with the server.
func configureEncryption(c *genericapiserver.Config, o Options) error {
	if o.EncryptionConfigFile == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-c.DrainedNotify(); cancel() }()
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, o.EncryptionConfigFile, o.EncryptionConfigReload, c.APIServerID)
	if err != nil {
		cancel()
		return fmt.Errorf("--encryption-provider-config %s: %w", o.EncryptionConfigFile, err)
	}
	if !o.EncryptionConfigReload {
		c.ResourceTransformers = encryptionconfig.StaticTransformers(loaded.Transformers)
		c.HealthzChecks, c.ReadyzChecks = append(c.HealthzChecks, loaded.HealthChecks...), append(c.ReadyzChecks, loaded.HealthChecks...)
		return nil
	}
	transformers := encryptionconfig.NewDynamicTransformers(loaded.Transformers, loaded.HealthChecks[0], cancel, loaded.KMSCloseGracePeriod)
	c.ResourceTransformers = transformers
	c.HealthzChecks, c.ReadyzChecks = append(c.HealthzChecks, transformers), append(c.ReadyzChecks, transformers)
	return c.AddPostStartHook("berth-encryption-reload", func(hook genericapiserver.PostStartHookContext) error {
		reload := encryptioncontroller.NewDynamicEncryptionConfiguration("encryption-config", o.EncryptionConfigFile, transformers, loaded.EncryptionFileContentHash, c.APIServerID)
		go reload.Run(hook)
		return nil
	})
}
