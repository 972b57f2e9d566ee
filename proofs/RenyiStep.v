(** One step under one Rényi order (docs/theory.md, "One Rényi order"; `RenyiDP.step` in the code).

    Of two answers, [renyi] is two inequalities between the probabilities x <= y of yes:

      max(0, y - d)^(k+1) / x^k + (1 - y)^(k+1) / (1 - x)^k <= T  and
      max(0, 1 - x - d)^(k+1) / (1 - y)^k + x^(k+1) / y^k <= T,

    where 0 / 0 is 0; [affords] has them without denominators. What keeps to them is convex and closed. So the largest such y
    has all that Theorems 1 to 3 ask of phi, and is concave. *)

From Coq Require Import Reals Lra Psatz Lia.
From Duotone Require Import Closeness Graph Sum Renyi.
Open Scope R_scope.

Section Powers.
Variable k : nat.
Hypothesis order : (1 <= k)%nat.

(** u^(k+1) / v^k is the largest of its tangents. *)
Lemma tangent z u v r : 0 <= z -> 0 <= u -> 0 <= v -> 0 <= r -> u ^ S k <= r * v ^ k ->
  INR (S k) * z ^ k * u <= r + INR k * z ^ S k * v.
Proof.
  intros Hz Hu Hv Hr H. pose proof (lt_0_INR k ltac:(lia)) as K. pose proof (lt_0_INR (S k) ltac:(lia)) as K'.
  destruct (Req_dec z 0) as [-> | N]; [rewrite !pow_i by lia; lra|]. assert (Z : 0 < z) by lra.
  pose proof (pow_lt z k Z) as Zk. set (y := INR k * z / INR (S k)).
  assert (Y : 0 < y) by (unfold y; apply Rdiv_lt_0_compat; nra).
  pose proof (excess k order y u v r Y Hu Hv Hr H) as E.
  assert (C : tail_constant k y * (INR (S k) * z ^ k) = 1).
  { unfold tail_constant, y, Rdiv. rewrite !Rpow_mult_distr, pow_inv. cbn [pow].
    pose proof (pow_lt _ k K). pose proof (pow_lt _ k K'). field. repeat split; lra. }
  assert (D : y * INR (S k) = INR k * z) by (unfold y; field; lra).
  apply Rmult_le_compat_l with (r := INR (S k) * z ^ k) in E; [|nra].
  replace (INR (S k) * z ^ k * (y * v + tail_constant k y * r))
    with (z ^ k * (y * INR (S k)) * v + tail_constant k y * (INR (S k) * z ^ k) * r) in E by ring.
  rewrite C, D in E. cbn [pow]. lra.
Qed.

Lemma tangents u v r : 0 <= u -> 0 <= v -> 0 <= r ->
  (forall z, 0 <= z -> INR (S k) * z ^ k * u <= r + INR k * z ^ S k * v) -> u ^ S k <= r * v ^ k.
Proof.
  intros Hu Hv Hr H. pose proof (lt_0_INR k ltac:(lia)) as K.
  destruct (Req_dec u 0) as [-> | U]; [rewrite pow_i by lia; apply Rmult_le_pos; [|apply pow_le]; assumption|].
  destruct (Req_dec v 0) as [-> | V].
  - exfalso. set (z := 1 + r / u). assert (Q : z * u = u + r) by (unfold z; field; lra).
    assert (0 <= r / u) by (apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra).
    specialize (H z ltac:(unfold z; lra)). rewrite Rmult_0_r, Rplus_0_r in H.
    assert (P : z ^ 1 <= z ^ k) by (apply Rle_pow; [unfold z; lra | exact order]). rewrite pow_1 in P.
    rewrite S_INR in H. assert (z * u <= z ^ k * u) by (apply Rmult_le_compat_r; assumption).
    assert (0 <= INR k * (z ^ k * u)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; [apply pow_le; unfold z; lra | lra]).
    lra.
  - specialize (H (u / v) ltac:(apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra)).
    pose proof (pow_lt v k ltac:(lra)) as Vk. rewrite S_INR in H. unfold Rdiv in H.
    rewrite !Rpow_mult_distr, !pow_inv in H. cbn [pow] in *.
    apply Rmult_le_compat_r with (r := v ^ k) in H; [|lra].
    replace ((INR k + 1) * (u ^ k * / v ^ k) * u * v ^ k) with ((INR k + 1) * (u ^ k * u)) in H by (field; lra).
    replace ((r + INR k * (u * u ^ k * / (v * v ^ k)) * v) * v ^ k) with (r * v ^ k + INR k * (u * u ^ k)) in H
      by (field; lra).
    lra.
Qed.

(** So it is convex in both at once. *)
Lemma quotient_convex t u v r u' v' r' : 0 <= t <= 1 -> 0 <= u -> 0 <= v -> 0 <= r -> 0 <= u' -> 0 <= v' -> 0 <= r' ->
  u ^ S k <= r * v ^ k -> u' ^ S k <= r' * v' ^ k ->
  (t * u + (1 - t) * u') ^ S k <= (t * r + (1 - t) * r') * (t * v + (1 - t) * v') ^ k.
Proof.
  intros Ht Hu Hv Hr Hu' Hv' Hr' H H'. apply tangents; try nra. intros z Hz.
  pose proof (tangent z u v r Hz Hu Hv Hr H) as A. pose proof (tangent z u' v' r' Hz Hu' Hv' Hr' H') as B.
  apply Rmult_le_compat_l with (r := t) in A; [|lra]. apply Rmult_le_compat_l with (r := 1 - t) in B; [|lra]. lra.
Qed.

Lemma power_zero n x : 0 <= x -> x ^ S n <= 0 -> x = 0.
Proof. intros Hx H. destruct (Req_dec x 0) as [|N]; [assumption|]. pose proof (pow_lt x (S n) ltac:(lra)). lra. Qed.

Lemma power_most n x : probability x -> x ^ n <= 1.
Proof. intros [? ?]. rewrite <- (pow1 n). apply pow_incr. lra. Qed.

End Powers.

Section Step.
Variables (k : nat) (T d : R).
Hypotheses (order : (1 <= k)%nat) (least : 1 <= T) (lack : 0 <= d < 1).

(** Two answers, yes and no. *)
Definition of_two x (i : nat) := match i with O => x | _ => 1 - x end.

Definition beside x y := priced k T d 2 (of_two x) (of_two y).

(** Both ways round: what the filter of Renyi.v takes. *)
Definition alike x y := renyi k T d 2 (of_two x) (of_two y).

(** With few words: parts u of yes and v of no. *)
Lemma beside_iff x y : beside x y <-> exists u v r s,
  (0 <= u <= x /\ 0 <= v <= 1 - x) /\ (0 <= r /\ 0 <= s) /\ u ^ S k <= r * y ^ k /\ v ^ S k <= s * (1 - y) ^ k /\
  1 - u - v <= d /\ r + s <= T.
Proof.
  unfold beside, priced; cbn [total of_two]; split.
  - intros (part & r & H & L & M). destruct (H 0%nat ltac:(lia)) as (A1 & A2 & A3), (H 1%nat ltac:(lia)) as (B1 & B2 & B3).
    exists (part 0%nat), (part 1%nat), (r 0%nat), (r 1%nat). repeat split; try apply A1; try apply B1; auto; lra.
  - intros (u & v & r & s & (A & B) & (C & D) & E & F & L & M).
    exists (fun i => match i with O => u | _ => v end), (fun i => match i with O => r | _ => s end).
    split; [intros [|i] _; cbn [of_two]; repeat split; try assumption; lra|]. split; lra.
Qed.

Lemma beside_no x y : beside x y -> beside (1 - x) (1 - y).
Proof.
  rewrite !beside_iff. intros (u & v & r & s & (A & B) & (C & D) & E & F & L & M). exists v, u, s, r.
  replace (1 - (1 - x)) with x by ring. replace (1 - (1 - y)) with y by ring. repeat split; try apply A; try apply B; auto; lra.
Qed.

Lemma beside_convex t x y x' y' : 0 <= t <= 1 -> probability y -> probability y' -> beside x y -> beside x' y' ->
  beside (t * x + (1 - t) * x') (t * y + (1 - t) * y').
Proof.
  rewrite !beside_iff. intros Ht [Hy Hy1] [Hy' Hy1'].
  intros (u & v & r & s & (A & B) & (C & D) & E & F & L & M) (u' & v' & r' & s' & (A' & B') & (C' & D') & E' & F' & L' & M').
  exists (t * u + (1 - t) * u'), (t * v + (1 - t) * v'), (t * r + (1 - t) * r'), (t * s + (1 - t) * s').
  split; [split; split; nra|]. split; [split; nra|]. split; [apply quotient_convex; try assumption; lra|].
  split; [|split; nra]. replace (1 - (t * y + (1 - t) * y')) with (t * (1 - y) + (1 - t) * (1 - y')) by ring.
  apply quotient_convex; try assumption; lra.
Qed.

Lemma alike_no x y : alike x y -> alike (1 - x) (1 - y).
Proof. intros [H K]; split; apply beside_no; assumption. Qed.

Lemma alike_sym x y : alike x y -> alike y x.
Proof. intros [H K]; split; assumption. Qed.

Lemma alike_same x : probability x -> alike x x.
Proof.
  intros [? ?]. enough (beside x x) by (split; assumption). apply priced_more with (T := 1) (d := 0); try lra.
  apply priced_itself; split; [intros [|i] _; simpl; lra | simpl; ring].
Qed.

(** What may stand beside each other is convex. *)
Theorem alike_convex t x y x' y' : 0 <= t <= 1 -> probability x -> probability y -> probability x' -> probability y' ->
  alike x y -> alike x' y' -> alike (t * x + (1 - t) * x') (t * y + (1 - t) * y').
Proof. intros Ht Hx Hy Hx' Hy' [H K] [H' K']; split; apply beside_convex; assumption. Qed.

(** ** The two inequalities *)

(** a beside b <= a: what a lacks, it lacks of yes. *)
Definition affords a b := Rmax 0 (a - d) ^ S k * (1 - b) ^ k + (1 - a) ^ S k * b ^ k <= T * (b ^ k * (1 - b) ^ k).

Lemma left_over a : 0 <= a -> 0 <= Rmax 0 (a - d) <= a /\ a - Rmax 0 (a - d) <= d.
Proof. unfold Rmax; destruct Rle_dec; lra. Qed.

(** ... inside, with quotients. *)
Lemma affords_inside a b : 0 < b < 1 -> let u := Rmax 0 (a - d) in
  (affords a b <-> u * (u / b) ^ k + (1 - a) * ((1 - a) / (1 - b)) ^ k <= T).
Proof.
  intros [B0 B1] u. unfold affords. fold u. pose proof (pow_lt b k B0) as P. pose proof (pow_lt (1 - b) k ltac:(lra)) as Q.
  assert (E : u ^ S k * (1 - b) ^ k + (1 - a) ^ S k * b ^ k =
              (u * (u / b) ^ k + (1 - a) * ((1 - a) / (1 - b)) ^ k) * (b ^ k * (1 - b) ^ k)).
  { unfold Rdiv. rewrite !Rpow_mult_distr, !pow_inv. cbn [pow]. field. lra. }
  rewrite E. split; intros H; [|apply Rmult_le_compat_r; nra].
  apply Rmult_le_reg_r with (b ^ k * (1 - b) ^ k); [nra | exact H].
Qed.

Lemma beside_iff_fits a b : probability a -> probability b -> b <= a -> (beside a b <-> affords a b).
Proof.
  intros [A0 A1] [B0 B1] L. destruct (left_over a A0) as (U & V). rewrite beside_iff.
  destruct (Req_dec b 0) as [-> | N0].
  { unfold affords. rewrite Rminus_0_r, pow1, pow_i by lia. split.
    - intros (u & v & r & s & (Hu & Hv) & _ & E & _ & X & _). rewrite Rmult_0_r in E.
      apply power_zero in E; [|lra]. rewrite Rmax_left by lra. rewrite pow_i by lia. lra.
    - intros H. assert (E : Rmax 0 (a - d) ^ S k <= 0) by lra. apply power_zero in E; [|lra].
      exists 0, (1 - a), 0, 1. pose proof (power_most (S k) (1 - a) ltac:(split; lra)).
      rewrite (pow_i (S k)) by lia. repeat split; lra. }
  destruct (Req_dec b 1) as [-> | N1].
  { replace a with 1 in * by lra. unfold affords.
    rewrite !Rminus_diag_eq, (pow_i (S k)), (pow_i k), pow1 by (reflexivity || lia).
    split; [lra|]. intros _. exists (Rmax 0 (1 - d)), 0, 1, 0.
    pose proof (power_most (S k) _ (conj (proj1 U) (proj2 U))). rewrite pow_i by lia. repeat split; lra. }
  assert (B : 0 < b < 1) by lra. rewrite (affords_inside a b B). set (u := Rmax 0 (a - d)) in *. split.
  - intros (p & q & r & s & (Hp & Hq) & (Hr & Hs) & E & F & X & Y).
    set (z := u / b). set (w := (1 - a) / (1 - b)).
    assert (Ez : z * b = u) by (unfold z; field; lra). assert (Ew : w * (1 - b) = 1 - a) by (unfold w; field; lra).
    assert (Z : 0 <= z) by (unfold z; apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra).
    assert (W : 0 <= w) by (unfold w; apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra).
    assert (W1 : w <= 1) by nra. pose proof (pow_le z k Z) as Zk. pose proof (pow_le w k W) as Wk.
    pose proof (power_most k w (conj W W1)) as Wk1. destruct (Rle_dec z 1) as [Z1 | Z1].
    + pose proof (power_most k z (conj Z Z1)). nra.
    + assert (w ^ k <= z ^ k) by (apply pow_incr; lra).
      assert (Pu : 0 < u) by nra. assert (Eu : u = a - d) by (revert Pu; unfold u, Rmax; destruct Rle_dec; lra).
      pose proof (tangent k order z p b r Z ltac:(lra) ltac:(lra) Hr E) as G.
      pose proof (tangent k order w q (1 - b) s W ltac:(lra) ltac:(lra) Hs F) as H'.
      replace (INR k * z ^ S k * b) with (INR k * (z ^ k * u)) in G by (rewrite <- Ez; cbn [pow]; ring).
      replace (INR k * w ^ S k * (1 - b)) with (INR k * (w ^ k * (1 - a))) in H' by (rewrite <- Ew; cbn [pow]; ring).
      assert (K : z ^ k * u + w ^ k * (1 - a) <= z ^ k * p + w ^ k * q).
      { assert (0 <= (z ^ k - w ^ k) * (1 - a - q)) by (apply Rmult_le_pos; lra).
        assert (0 <= z ^ k * (p + q - 1 + d)) by (apply Rmult_le_pos; lra). rewrite Eu. lra. }
      rewrite S_INR in G, H'. pose proof (pos_INR k).
      assert (INR k * (z ^ k * u + w ^ k * (1 - a)) <= INR k * (z ^ k * p + w ^ k * q))
        by (apply Rmult_le_compat_l; assumption). lra.
  - intros H. exists u, (1 - a), (u * (u / b) ^ k), ((1 - a) * ((1 - a) / (1 - b)) ^ k).
    assert (P : 0 <= (u / b) ^ k) by (apply pow_le, Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra).
    assert (Q : 0 <= ((1 - a) / (1 - b)) ^ k) by (apply pow_le, Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; lra).
    assert (M : forall c e, e <> 0 -> c ^ S k <= c * (c / e) ^ k * e ^ k).
    { intros c e He. right. unfold Rdiv. rewrite Rpow_mult_distr, pow_inv. cbn [pow]. field. apply pow_nonzero, He. }
    repeat split; try lra; try (apply M; lra); apply Rmult_le_pos; lra.
Qed.

(** The definition of privacy of two answers, in integers later: both inequalities. *)
Theorem alike_iff x y : probability x -> probability y -> x <= y -> (alike x y <-> affords y x /\ affords (1 - x) (1 - y)).
Proof.
  intros Hx Hy L. rewrite <- !beside_iff_fits by (unfold probability in *; lra).
  unfold alike, renyi. fold (beside x y) (beside y x).
  split; [intros [H K] | intros [K H]]; split; try assumption; apply beside_no in H; [exact H|].
  replace (1 - (1 - x)) with x in H by ring. replace (1 - (1 - y)) with y in H by ring. exact H.
Qed.

(** ** They are closed *)

Lemma continuity_power f n : continuity f -> continuity (fun z => f z ^ n).
Proof.
  intros H; induction n as [|n IH]; [apply continuity_const; intros ? ?; reflexivity|].
  exact (continuity_mult f (fun z => f z ^ n) H IH).
Qed.

Lemma continuity_left f : continuity f -> continuity (fun z => Rmax 0 (f z - d)).
Proof.
  intros H z e He. destruct (H z e He) as (a & Ha & K). exists a; split; [exact Ha|]. intros x Hx. specialize (K x Hx).
  simpl in *. unfold R_dist in *. unfold Rmax; repeat destruct Rle_dec; try exact K; revert K; unfold Rabs;
    repeat destruct Rcase_abs; lra.
Qed.

Lemma continuity_fits f g : continuity f -> continuity g -> continuity (fun z =>
  Rmax 0 (f z - d) ^ S k * (1 - g z) ^ k + (1 - f z) ^ S k * g z ^ k - T * (g z ^ k * (1 - g z) ^ k)).
Proof.
  intros F G.
  assert (One : continuity (fun _ => 1)) by (apply continuity_const; intros ? ?; reflexivity).
  assert (F' : continuity (fun z => 1 - f z)) by exact (continuity_minus _ _ One F).
  assert (G' : continuity (fun z => 1 - g z)) by exact (continuity_minus _ _ One G).
  pose proof (continuity_power _ (S k) (continuity_left f F)) as A. pose proof (continuity_power _ k G') as B.
  pose proof (continuity_power _ (S k) F') as C. pose proof (continuity_power _ k G) as D.
  pose proof (continuity_plus _ _ (continuity_mult _ _ A B) (continuity_mult _ _ C D)) as E.
  pose proof (continuity_scal _ T (continuity_mult _ _ D B)) as M. exact (continuity_minus _ _ E M).
Qed.

(** What is at most 0 between x and y is so at both ends. *)
Lemma at_the_ends f x y : continuity f -> x < y -> (forall z, x < z < y -> f z <= 0) -> f x <= 0 /\ f y <= 0.
Proof.
  intros F L H. assert (M : forall e, (e = x \/ e = y) -> f e <= 0).
  { intros e He. apply Rnot_lt_le; intros C. destruct (F e (f e) C) as (a & Ha & K).
    set (h := Rmin (a / 2) ((y - x) / 2)). assert (h <= a / 2) by apply Rmin_l. assert (h <= (y - x) / 2) by apply Rmin_r.
    assert (0 < h) by (apply Rmin_glb_lt; lra). set (z := if Req_EM_T e x then x + h else y - h).
    assert (Z : x < z < y /\ z <> e /\ Rabs (z - e) < a).
    { unfold z; destruct Req_EM_T as [E | E]; [|destruct He as [He | He]; [contradiction|]];
        (split; [split; lra|]); (split; [lra|]); unfold Rabs; destruct Rcase_abs; lra. }
    destruct Z as (Z1 & Z2 & Z3). specialize (H z Z1).
    specialize (K z). simpl in K. unfold R_dist, D_x, no_cond in K.
    specialize (K ltac:(auto)). apply Rabs_def2 in K. lra. }
  split; apply M; auto.
Qed.

Lemma affords_at_the_ends f g x y : continuity f -> continuity g -> x < y -> (forall z, x < z < y -> affords (f z) (g z)) ->
  affords (f x) (g x) /\ affords (f y) (g y).
Proof.
  intros F G L H. pose proof (at_the_ends _ x y (continuity_fits f g F G) L) as K. unfold affords in *.
  destruct K as [A B]; [intros z Hz; specialize (H z Hz); lra|]. split; lra.
Qed.

Lemma alike_at_the_ends f g x y : continuity f -> continuity g -> x < y ->
  (forall z, x <= z <= y -> 0 <= f z <= g z /\ g z <= 1) -> (forall z, x < z < y -> alike (f z) (g z)) ->
  alike (f x) (g x) /\ alike (f y) (g y).
Proof.
  intros F G L R H.
  assert (One : continuity (fun _ => 1)) by (apply continuity_const; intros ? ?; reflexivity).
  assert (F' : continuity (fun z => 1 - f z)) by exact (continuity_minus _ _ One F).
  assert (G' : continuity (fun z => 1 - g z)) by exact (continuity_minus _ _ One G).
  assert (K : forall z, x < z < y -> affords (g z) (f z) /\ affords (1 - f z) (1 - g z)).
  { intros z Hz. pose proof (R z ltac:(lra)). apply alike_iff; [split; lra | split; lra | lra | apply H, Hz]. }
  destruct (affords_at_the_ends g f x y G F L) as [A B]; [intros z Hz; apply K, Hz|].
  destruct (affords_at_the_ends _ _ x y F' G' L) as [C D]; [intros z Hz; apply K, Hz|].
  pose proof (R x ltac:(lra)). pose proof (R y ltac:(lra)).
  split; apply alike_iff; auto; try (split; lra); lra.
Qed.

(** What lies between two that are alike is like both. *)
Lemma alike_between x z y : probability x -> probability y -> x <= z <= y -> alike x y -> alike x z /\ alike z y.
Proof.
  intros Hx Hy Hz A. destruct (Req_dec x y) as [E | N]; [replace z with x by lra; split; [apply alike_same, Hx | exact A]|].
  set (t := (y - z) / (y - x)). assert (E : t * (y - x) = y - z) by (unfold t; field; lra).
  assert (Ht : 0 <= t <= 1) by (split; nra). assert (Z : t * x + (1 - t) * y = z) by lra.
  pose proof (alike_convex t x x x y Ht Hx Hx Hx Hy (alike_same x Hx) A) as B.
  pose proof (alike_convex t x y y y Ht Hx Hy Hy Hy A (alike_same y Hy)) as C.
  rewrite Z in B, C. replace (t * x + (1 - t) * x) with x in B by ring. replace (t * y + (1 - t) * y) with y in C by ring.
  split; assumption.
Qed.

(** ** phi: the largest that is like x *)

Definition like x y := probability y /\ (y <= Rmax 0 x \/ alike x y).

Lemma like_bounded x : bound (like x).
Proof. exists 1; intros y [[_ H] _]; exact H. Qed.

Lemma like_some x : exists y, like x y.
Proof. exists 0; split; [split; lra | left; apply Rmax_l]. Qed.

Definition most x := proj1_sig (completeness _ (like_bounded x) (like_some x)).

Lemma most_upper x y : like x y -> y <= most x.
Proof. unfold most; destruct completeness as [m [U L]]; simpl; intros H; apply U, H. Qed.

Lemma most_least x b : (forall y, like x y -> y <= b) -> most x <= b.
Proof. unfold most; destruct completeness as [m [U L]]; simpl; intros H; apply L; intros y Hy; apply H, Hy. Qed.

Lemma most_probability x : probability (most x).
Proof.
  split; [apply most_upper; split; [split; lra | left; apply Rmax_l] | apply most_least; intros y [[_ H] _]; exact H].
Qed.

Lemma below_most x y : probability x -> x <= y < most x -> alike x y.
Proof.
  intros Hx [L U]. pose proof (most_probability x) as [M0 M1]. assert (Hy : probability y) by (destruct Hx; split; lra).
  apply alike_iff; auto. assert (S : forall e, like x e -> y < e -> alike x y).
  { intros e [He [B | A]] C; [rewrite Rmax_right in B by apply Hx; lra|]. apply (alike_between x y e); auto; lra. }
  split; apply Rnot_lt_le; intros C; (enough (most x <= y) by lra); apply most_least; intros e E; apply Rnot_lt_le; intros D;
    apply (S e E) in D; apply alike_iff in D; auto; unfold affords in D; lra.
Qed.

(** The largest is one of them. *)
Theorem le_most x y : probability x -> probability y -> (y <= most x <-> y <= x \/ alike x y).
Proof.
  intros Hx Hy; split.
  - intros H. destruct (Rle_dec y x) as [L | L]; [left; exact L | right].
    destruct (alike_at_the_ends (fun _ => x) (fun z => z) x y) as [_ A]; auto; try lra.
    + apply continuity_const; intros ? ?; reflexivity.
    + apply derivable_continuous, derivable_id.
    + destruct Hx, Hy; intros; lra.
    + intros z Hz. apply below_most; auto; lra.
  - intros H. apply most_upper; split; [exact Hy|]. rewrite Rmax_right by apply Hx. exact H.
Qed.

(** For every number, as `phi` of Step.v. *)
Definition within_range x := Rmax 0 (Rmin 1 x).
Definition largest x := most (within_range x).

Lemma within_probability x : probability (within_range x).
Proof. unfold within_range, Rmax, Rmin, probability; repeat destruct Rle_dec; lra. Qed.

Lemma within_is x : probability x -> within_range x = x.
Proof. intros [? ?]. unfold within_range, Rmax, Rmin; repeat destruct Rle_dec; lra. Qed.

Theorem le_largest x y : probability x -> probability y -> (y <= largest x <-> y <= x \/ alike x y).
Proof. intros Hx. unfold largest. rewrite (within_is x Hx). apply le_most, Hx. Qed.

Lemma private_iff_largest x y :
  probability x -> probability y -> (beside x y /\ beside y x <-> x <= largest y /\ y <= largest x).
Proof.
  intros Hx Hy. rewrite !le_largest by assumption. change (beside x y /\ beside y x) with (alike x y). split.
  - intros H; split; right; [apply alike_sym|]; exact H.
  - intros [[A | A] [B | B]]; try exact B; try (apply alike_sym, A). replace y with x by lra. apply alike_same, Hx.
Qed.

Lemma largest_most x : largest x <= 1.
Proof. apply most_probability. Qed.

Lemma largest_extends x : x <= 1 -> 0 <= x -> x <= largest x.
Proof. intros; apply le_largest; [split; lra | split; lra | left; lra]. Qed.

Lemma largest_increases x x' : x <= x' -> largest x <= largest x'.
Proof.
  intros H. assert (L : within_range x <= within_range x') by (unfold within_range, Rmax, Rmin; repeat destruct Rle_dec; lra).
  unfold largest. pose proof (within_probability x) as Hz. pose proof (within_probability x') as Hz'.
  pose proof (most_probability (within_range x)) as Hy. revert L Hz Hz' Hy.
  generalize (within_range x) (within_range x'). intros z z' L Hz Hz' Hy. apply le_most; auto.
  destruct (Rle_dec (most z) z') as [M | M]; [left; exact M | right].
  destruct (proj1 (le_most z (most z) Hz Hy) (Rle_refl _)) as [B | A]; [lra|].
  apply (alike_between z z' (most z)); auto; lra.
Qed.

Lemma largest_closed x y : probability x -> x < 1 -> (forall x', x < x' -> x' <= 1 -> y <= largest x') -> y <= largest x.
Proof.
  intros Hx Lx H. destruct (Rle_dec y x) as [L | L]; [apply Rle_trans with x; [exact L | apply largest_extends; apply Hx]|].
  pose proof (H 1 Lx ltac:(lra)). pose proof (largest_most 1). assert (Hy : probability y) by (destruct Hx; split; lra).
  apply le_largest; auto. right. destruct (alike_at_the_ends (fun z => z) (fun _ => y) x y) as [A _]; auto; try lra.
  - apply derivable_continuous, derivable_id.
  - apply continuity_const; intros ? ?; reflexivity.
  - destruct Hx, Hy; intros; lra.
  - intros z Hz. assert (P : probability z) by (destruct Hx, Hy; split; lra).
    destruct (proj1 (le_largest z y P Hy) (H z ltac:(lra) ltac:(destruct Hy; lra))) as [B | A]; [lra | exact A].
Qed.

Lemma largest_symmetric x y : x <= 1 -> 0 <= y -> y <= 1 -> 0 <= x -> (y <= largest x <-> 1 - x <= largest (1 - y)).
Proof.
  intros. rewrite !le_largest by (split; lra).
  split; intros [L | A]; try (left; lra); right; apply alike_no, alike_sym in A; auto.
  replace (1 - (1 - x)) with x in A by ring. replace (1 - (1 - y)) with y in A by ring. exact A.
Qed.

(** phi is concave *)
Theorem renyi_concave x x' t : 0 <= t <= 1 -> probability x -> probability x' ->
  t * largest x + (1 - t) * largest x' <= largest (t * x + (1 - t) * x').
Proof.
  intros Ht Hx Hx'.
  assert (P : forall z, probability z -> probability (largest z) /\ alike z (largest z)).
  { intros z Hz. assert (Hp : probability (largest z)) by apply most_probability. split; [exact Hp|].
    destruct (proj1 (le_largest z (largest z) Hz Hp) (Rle_refl _)) as [B | A]; [|exact A].
    pose proof (largest_extends z (proj2 Hz) (proj1 Hz)). replace (largest z) with z by lra. apply alike_same, Hz. }
  destruct (P x Hx) as [Hp A], (P x' Hx') as [Hp' A'].
  assert (M : forall a b, probability a -> probability b -> probability (t * a + (1 - t) * b)).
  { intros a b [? ?] [? ?]; split; nra. }
  apply le_largest; auto. right. apply alike_convex; assumption.
Qed.

(** An answer is certain beside x from 1 - d on, and no sooner; what never is may be d beside it. *)
Theorem renyi_certain x : probability x -> (1 <= largest x <-> 1 - d <= x).
Proof.
  intros [X0 X1]. assert (H1 : probability 1) by (split; lra). rewrite le_largest by (assumption || split; lra).
  assert (F : alike x 1 <-> affords 1 x /\ affords (1 - x) (1 - 1)) by (apply alike_iff; auto; split; lra).
  rewrite F; clear F. unfold affords. replace (1 - 1) with 0 by ring. rewrite Rminus_0_r, pow1, (pow_i (S k)), (pow_i k) by lia.
  rewrite (Rmax_right 0 (1 - d)) by lra. split.
  - intros [L | [_ L]]; [lra|]. assert (E : Rmax 0 (1 - x - d) ^ S k <= 0) by lra.
    apply power_zero in E; [|apply Rmax_l]. pose proof (Rmax_r 0 (1 - x - d)). lra.
  - intros L. right. rewrite (Rmax_left 0 (1 - x - d)), (pow_i (S k)) by (lia || lra). split; [|lra].
    assert (A : (1 - d) ^ S k <= x ^ k).
    { cbn [pow]. pose proof (pow_incr (1 - d) x k ltac:(lra)). pose proof (pow_le (1 - d) k ltac:(lra)). nra. }
    pose proof (pow_le x k X0). pose proof (pow_le (1 - x) k ltac:(lra)) as Q.
    apply Rle_trans with (x ^ k * (1 - x) ^ k); [rewrite Rmult_0_l, Rplus_0_r; apply Rmult_le_compat_r; assumption|].
    assert (0 <= x ^ k * (1 - x) ^ k) by (apply Rmult_le_pos; assumption). nra.
Qed.

Theorem renyi_selects : largest 0 = d.
Proof.
  assert (S : forall y, probability y -> (y <= largest 0 <-> y <= d)).
  { intros y [Y0 Y1]. rewrite largest_symmetric, Rminus_0_r by lra. rewrite renyi_certain by (split; lra). lra. }
  assert (P : probability (largest 0)) by apply most_probability. apply Rle_antisym; apply S; try lra; [exact P | split; lra].
Qed.

(** So the paper's theorems hold for it. *)
Definition renyi_closeness : closeness :=
  {| hidden := beside; step := largest; private_iff_step := private_iff_largest; step_most := largest_most;
     step_extends := largest_extends; step_increases := largest_increases; step_closed := largest_closed;
     step_symmetric := largest_symmetric |}.

End Step.

(** `RenyiDP(k + 1, price, d)`. *)
Record one_order := {
  power : nat;
  price : R;
  lost : R;
  power_least : (1 <= power)%nat;
  price_least : 1 <= price;
  lost_range : 0 <= lost < 1
}.

Definition by_order (Q : one_order) : closeness :=
  renyi_closeness (power Q) (price Q) (lost Q) (power_least Q) (price_least Q) (lost_range Q).
Coercion by_order : one_order >-> closeness.

(** What is private by it is what the filter takes at this price. *)
Theorem private_at_its_price (Q : one_order) {G : graph} (M : mechanism G) : private Q M -> fair_question (power Q)
  {| charged := (price Q, lost Q); answers := 2; law := yes_no M |}.
Proof.
  intros [Hp H]. destruct (lost_range Q). unfold fair_question; simpl. split; [apply price_least|]. split; [assumption|].
  split; [|exact H]. intros a. destruct (Hp a). split; [intros [|i] _; simpl; lra | simpl; ring].
Qed.
