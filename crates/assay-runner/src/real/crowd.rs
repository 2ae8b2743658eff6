//! Selects the connection to drop if all slots are in use.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Prefix length of an IPv6 network that one user controls, with all of its addresses.
const OWN_BITS: u32 = 64;

/// Returns the connection to drop from (ID, address, last use): the idlest among those of the user with the most.
pub fn select_to_drop<I: Copy, O: Ord>(connections: &[(I, IpAddr, O)]) -> Option<I> {
    let mut connections_per_user: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for (_, address, _) in connections {
        *connections_per_user.entry(user_network(*address)).or_default() += 1;
    }
    let most = connections_per_user.values().copied().max()?;
    let is_of_largest =
        |address: IpAddr| connections_per_user.get(&user_network(address)) == Some(&most);
    let candidates = connections.iter().filter(|(_, address, _)| is_of_largest(*address));
    candidates.min_by(|(_, _, a), (_, _, b)| a.cmp(b)).map(|(id, _, _)| *id)
}

/// The address, or the whole IPv6 network of its user.
fn user_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(own) => own.into(),
        IpAddr::V6(own) => IpAddr::V6((u128::from(own) >> OWN_BITS << OWN_BITS).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes(there: &[(u8, &str, u64)]) -> Option<u8> {
        let parsed = there.iter().map(|(id, address, since)| {
            let address: IpAddr = address.parse().unwrap();
            (*id, address, *since)
        });
        select_to_drop(&parsed.collect::<Vec<_>>())
    }

    #[test]
    fn the_idlest_of_the_largest_crowd_gives_way() {
        assert_eq!(goes(&[]), None);
        let crowd = [(1, "10.0.0.1", 0), (2, "10.0.0.2", 9), (3, "10.0.0.2", 5)];
        assert_eq!(
            goes(&crowd),
            Some(3),
            "not the one that is alone at its address, which is older"
        );
        assert_eq!(goes(&crowd[..2]), Some(1), "of crowds of one size the idlest of all");
    }

    #[test]
    fn whoever_has_a_network_of_addresses_is_one() {
        let network = [(1, "10.0.0.1", 0), (2, "2001:db8::1", 9), (3, "2001:db8::2", 5)];
        assert_eq!(goes(&network), Some(3));
        let apart = [(1, "10.0.0.1", 0), (2, "2001:db8:0:1::1", 9), (3, "2001:db8:0:2::1", 5)];
        assert_eq!(goes(&apart), Some(1));
        let mapped = [(1, "::1", 0), (2, "::ffff:10.0.0.1", 9), (3, "10.0.0.1", 5)];
        assert_eq!(goes(&mapped), Some(3));
    }
}
