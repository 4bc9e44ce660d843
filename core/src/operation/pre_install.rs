//! Installing what the recorded providers need, before an operation begins its work.

use crate::{
    monitor::recorded_packages,
    operation::OperationRun,
    provider::{ProviderRegistry, ProviderWish},
    state::Base,
};

impl OperationRun {
    /// Has the plugins of the state's providers installed, where the host installs plugins. What cannot be installed is
    /// told of when it is needed.
    pub(super) async fn install_recorded(&self, registry: &ProviderRegistry, base: &Base) {
        if self.options.skip_plugin_pre_install || !self.stack.engine.loader.installs_beforehand() {
            return;
        }
        let wishes: Vec<ProviderWish> = recorded_packages(base).map(ProviderWish::from).collect();
        tokio::select! {
            biased;
            // What is being installed is brought to its end, unless the user insists.
            () = self.control.terminated() => {}
            () = registry.source().install_beforehand(&wishes) => {}
        }
    }
}
