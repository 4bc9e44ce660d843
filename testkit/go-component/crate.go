// This file holds a component that passes on what it is given: files, an archive, a resource.
package main

import (
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// CrateArgs are the inputs of a Crate.
type CrateArgs struct {
	File  pulumi.AssetInput   `pulumi:"file"`
	Files pulumi.ArchiveInput `pulumi:"files"`
	// Owner is a thing.
	Owner pulumi.AnyOutput  `pulumi:"owner"`
	Later pulumi.AssetInput `pulumi:"later"`
}

// Crate is a component with a content.
type Crate struct {
	pulumi.ResourceState
	File  pulumi.AssetOutput   `pulumi:"file"`
	Files pulumi.ArchiveOutput `pulumi:"files"`
	Owner pulumi.AnyOutput     `pulumi:"owner"`
	Later pulumi.AssetOutput   `pulumi:"later"`
}

// NewCrate registers a crate and its content, and has the inputs as outputs.
func NewCrate(ctx *pulumi.Context, name string, args CrateArgs, options ...pulumi.ResourceOption) (*Crate, error) {
	crate := &Crate{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, crate, options...); err != nil {
		return nil, err
	}
	inputs := pulumi.Map{"file": args.File, "files": args.Files, "owner": args.Owner, "later": args.Later}
	err := ctx.RegisterResource("things:index:Thing", name+"-content", inputs, &lid{}, pulumi.Parent(crate))
	if err != nil {
		return nil, err
	}
	crate.File = args.File.ToAssetOutput()
	crate.Files = args.Files.ToArchiveOutput()
	crate.Owner = args.Owner
	crate.Later = args.Later.ToAssetOutput()
	return crate, nil
}
