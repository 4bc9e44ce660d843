// This file starts the gofiles provider process and declares its configuration.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-go-provider/infer"
)

const version = "0.1.0"

// Config is what a deployment may set on the provider.
type Config struct {
	Root   *string `pulumi:"root,optional"`
	Prefix *string `pulumi:"prefix,optional"`
	Token  *string `pulumi:"token,optional" provider:"secret"`
}

func (c *Config) Annotate(a infer.Annotator) {
	a.Describe(&c.Root, "The folder that relative paths start from; it must exist.")
	a.Describe(&c.Prefix, "Text put before the content of every file.")
	a.Describe(&c.Token, "A secret that is accepted and not used.")
}

// resolve turns a path of a resource into a path of the file system.
func (c Config) resolve(path string) string {
	if c.Root == nil || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(*c.Root, path)
}

// prefix is the text that the file has before the content of its resource.
func (c Config) prefix() string {
	if c.Prefix == nil {
		return ""
	}
	return *c.Prefix
}

func main() {
	provider, err := infer.NewProviderBuilder().
		WithDisplayName("gofiles").
		WithNamespace("testkit").
		WithDescription("Files and folders of the local machine.").
		WithConfig(infer.Config(Config{})).
		WithResources(
			infer.Resource(File{}),
			infer.Resource(Directory{}),
			infer.Resource(Fragile{}),
		).
		WithFunctions(infer.Function(ReadFile{})).
		Build()
	if err == nil {
		err = provider.Run(context.Background(), "gofiles", version)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gofiles:", err)
		os.Exit(1)
	}
}
