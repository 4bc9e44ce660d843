// This file holds a component that passes on what it is given: files, an archive, a resource. It also has the id of its content.
package main

import (
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// CrateArgs are the inputs of a Crate. The library's search for the types of a schema, which it makes whenever its provider is
// configured, does not end at the types of files and archives of the SDK, so their types are named.
type CrateArgs struct {
	File  pulumi.AssetInput   `pulumi:"file" provider:"type=things@1.0.0:index:Asset"`
	Files pulumi.ArchiveInput `pulumi:"files" provider:"type=things@1.0.0:index:Archive"`
	// Owner is a thing.
	Owner pulumi.AnyOutput  `pulumi:"owner"`
	Later pulumi.AssetInput `pulumi:"later" provider:"type=things@1.0.0:index:Asset"`
}

// Crate is a component with a content.
type Crate struct {
	pulumi.ResourceState
	File  pulumi.AssetOutput   `pulumi:"file" provider:"type=things@1.0.0:index:Asset"`
	Files pulumi.ArchiveOutput `pulumi:"files" provider:"type=things@1.0.0:index:Archive"`
	Owner pulumi.AnyOutput     `pulumi:"owner"`
	Later pulumi.AssetOutput   `pulumi:"later" provider:"type=things@1.0.0:index:Asset"`
	// Content is the id of the content.
	Content pulumi.StringOutput `pulumi:"content"`
}

// NewCrate registers a crate and its content, and has the inputs and the id of the content as outputs.
func NewCrate(ctx *pulumi.Context, name string, args CrateArgs, options ...pulumi.ResourceOption) (*Crate, error) {
	crate := &Crate{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, crate, options...); err != nil {
		return nil, err
	}
	inputs := pulumi.Map{"file": args.File, "files": args.Files, "owner": args.Owner, "later": args.Later}
	content := &lid{}
	err := ctx.RegisterResource("things:index:Thing", name+"-content", inputs, content, pulumi.Parent(crate))
	if err != nil {
		return nil, err
	}
	crate.File = args.File.ToAssetOutput()
	crate.Files = args.Files.ToArchiveOutput()
	crate.Owner = args.Owner
	crate.Later = args.Later.ToAssetOutput()
	crate.Content = content.ID().ToStringOutput()
	return crate, nil
}
