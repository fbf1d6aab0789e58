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
	config, err := encryptionconfig.LoadEncryptionConfig(ctx, o.EncryptionConfigFile, o.EncryptionConfigReload, c.APIServerID)
	if err != nil {
		cancel()
		return fmt.Errorf("--encryption-provider-config %s: %w", o.EncryptionConfigFile, err)
	}
	go func() { <-c.DrainedNotify(); cancel() }()
	if !o.EncryptionConfigReload {
		c.ResourceTransformers = encryptionconfig.StaticTransformers(config.Transformers)
		c.HealthzChecks, c.ReadyzChecks = append(c.HealthzChecks, config.HealthChecks...), append(c.ReadyzChecks, config.HealthChecks...)
		return nil
	}
	transformers := encryptionconfig.NewDynamicTransformers(config.Transformers, config.HealthChecks[0], cancel, config.KMSCloseGracePeriod)
	c.ResourceTransformers = transformers
	c.HealthzChecks, c.ReadyzChecks = append(c.HealthzChecks, transformers), append(c.ReadyzChecks, transformers)
	return c.AddPostStartHook("berth-encryption-reload", func(hook genericapiserver.PostStartHookContext) error {
		controller := encryptioncontroller.NewDynamicEncryptionConfiguration("encryption-config", o.EncryptionConfigFile, transformers, config.EncryptionFileContentHash, c.APIServerID)
		go controller.Run(hook)
		return nil
	})
}
