//! Several comparisons of one family (rule R5).

/// Holm-adjusted p values, in the order of `p`; compare each with the alpha of the family.
///
/// Source: R5; Holm, Scandinavian Journal of Statistics 6 (1979). An entry outside 0 to 1 counts as 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut highest = 0.0_f64;
    for (rank, position) in ascending(p).into_iter().enumerate() {
        let weighted = probability(p[position]) * (p.len() - rank) as f64;
        // Never below a smaller p value's.
        highest = highest.max(weighted).min(1.0);
        adjusted[position] = highest;
    }
    adjusted
}

/// Alpha of each of `comparisons`, for a family-wise error of `alpha`.
///
/// Source: R5 (Bonferroni's inequality). Zero counts as one.
pub fn bonferroni(alpha: f64, comparisons: usize) -> f64 {
    alpha / comparisons.max(1) as f64
}

/// Positions of the p values from the smallest to the largest.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| probability(p[*left]).total_cmp(&probability(p[*right])));
    order
}

fn probability(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { p } else { 1.0 }
}
