(** Bounds on e^x from integers alone: `exponential` and `definition` of tools/check_certificate.py, and that they are right.

    x is rounded down to x' = n / 2^k, and the series S (1 + x' + x'^2/2 + ...) with S = 2^(k+extra) is summed with every term
    rounded down. Let G j = (rest of the series after x'^j/j!) / (x'^j/j!): what one unit lost in term j costs later on. Then
    G (j-1) = x'/j (1 + G j) and 1 + G j <= e^x', so each rounding loses at most e^x', and after term j with [t] left,

      total + t G j  <=  S e^x'  <=  total + j e^x' + t G j.

    At the end t <= 1, so all that is missing is at most (j + 1) e^x'; the code allows for four times as much. If that
    does not change the digits before [extra], they are those of 2^k e^x', rounded down. The loop's other condition,
    j > 2 x', is not needed for this. *)

From Coq Require Import ZArith QArith Qreals Reals Lra Lia Psatz Bool.
From Duotone Require Import Step.
Local Open Scope Z_scope.

(** ** The program *)

(** Python's `int.bit_length`. *)
Definition bit_length z := if z =? 0 then 0 else Z.log2 z + 1.

(** In lowest terms, as `Fraction` has it: the number of bits that are kept depends on it. *)
Definition reduced (x : Q) : Q := let g := Z.gcd (Qnum x) (QDen x) in Qnum x / g # Z.to_pos (QDen x / g).

(** k: how many bits after the point are kept. *)
Definition precision (x : Q) := 320 + Z.max 0 (bit_length (QDen x) - bit_length (Qnum x)).

Section Loop.
Variables n k last : Z. (* last = 2 n >> k *)

(** j, term and total *)
Definition state : Type := Z * Z * Z.

Definition more (s : state) := let '(j, term, _) := s in (j <=? last) || (1 <? term).

Definition next (s : state) : state :=
  let '(j, term, total) := s in
  let j := j + 1 in
  let term := Z.shiftr (term * n) k / j in
  (j, term, total + term).

(** At most 2^depth times: see [run_ends] for the depth that is enough. *)
Fixpoint run depth s := if more s then match depth with O => next s | S d => run d (run d s) end else s.
End Loop.

(** The loop's total, and what is added for all roundings and the rest of the series, both times 2^bits. *)
Definition series n k bits : Z * Z :=
  let start := Z.shiftl 1 bits in
  if n =? 0 then (start, 0) else
  let last := Z.shiftr (2 * n) k in
  let depth := Z.to_nat (Z.log2_up ((last + 1) * (last + 2) + bits + 1)) in
  let '(j, _, total) := run n k last depth (0, start, start) in
  (total, 4 * (j + 1) * (Z.shiftr total bits + 2)).

Definition exponential (x : Q) : option (Q * Q) :=
  let x := reduced x in
  let k := precision x in
  let one := Z.shiftl 1 k in
  let n := Qnum x * one / QDen x in
  let extra := k + 3 * n / Z.shiftl 1 (k + 1) + 400 in
  let (total, rest) := series n k (k + extra) in
  let short := Z.shiftr total extra in
  if short =? Z.shiftr (total + rest) extra then
    let below := short # Z.to_pos one in
    Some (below, if Qnum x =? 0 then below else short * (one + 4) # Z.to_pos (one * one))
  else None.

(** The ratio, a bound on e^epsilon from above, and delta; None for what is not proved. *)
Definition definition (y : Q) (epsilon : option Q) (d : Q) : option (Q * Q * Q) :=
  if Qle_bool 1 y && Qle_bool 0 d && negb (Qle_bool 1 d) then
    match epsilon with
    | None => Some (y, y, d)
    | Some epsilon =>
        if Qle_bool 0 epsilon && Qle_bool epsilon 8192 then
          match exponential epsilon with
          | Some (below, above) =>
              if Qle_bool y below && Qle_bool (above - y) ((above - 1) * (1 # 2 ^ 100)) then Some (y, above, d) else None
          | None => None
          end
        else None
    end
  else None.

(** ** Fractions *)

Lemma reduced_is_Qred x : reduced x = Qred x.
Proof.
  destruct x as [a b]; unfold reduced, Qred; cbn [Qnum Qden].
  generalize (Z.ggcd_gcd a (Zpos b)) (Z.ggcd_correct_divisors a (Zpos b)).
  destruct (Z.ggcd a (Zpos b)) as [g [c e]]; cbn; intros G [A B].
  rewrite <- G; clear G. assert (g <> 0) by (intros ->; lia).
  rewrite A, B, !(Z.mul_comm g), !Z.div_mul by assumption. reflexivity.
Qed.

Lemma reduced_equal x : reduced x == x.
Proof. rewrite reduced_is_Qred; apply Qred_correct. Qed.

Lemma reduced_least x : (0 <= x)%Q -> 0 <= Qnum (reduced x).
Proof. rewrite <- (reduced_equal x) at 1. unfold Qle. change (QDen 0) with 1. change (Qnum 0) with 0. lia. Qed.

(** So the result depends on the number and not on how it is written. *)
Lemma exponential_of_number x y : x == y -> exponential x = exponential y.
Proof. intros E; unfold exponential; rewrite !reduced_is_Qred, (Qred_complete _ _ E); reflexivity. Qed.

(** ** The loop ends *)

Section Ends.
Variables n k last : Z.
Hypotheses (n_least : 0 <= n) (k_least : 0 <= k) (last_is : last = Z.shiftr (2 * n) k).

Definition tick s := if more last s then next n k s else s.

Lemma tick_done m s : more last s = false -> Nat.iter m tick s = s.
Proof. intros H; induction m; simpl; [|rewrite IHm; unfold tick; rewrite H]; reflexivity. Qed.

Lemma iter_add {A} (f : A -> A) i j a : Nat.iter (i + j) f a = Nat.iter i f (Nat.iter j f a).
Proof. induction i; simpl; congruence. Qed.

Lemma run_ticks depth s : run n k last depth s = Nat.iter (2 ^ depth) tick s.
Proof.
  revert s; induction depth; intros s; cbn [run].
  - change (Nat.iter (2 ^ 0) tick s) with (tick s); unfold tick. destruct more; reflexivity.
  - destruct (more last s) eqn:M; [|symmetry; apply tick_done, M].
    rewrite !IHdepth, <- iter_add. f_equal. simpl; lia.
Qed.

(** What falls with every turn: up to [last] a term grows by at most a factor of 2^(last+1), and after it falls to a half. *)
Definition remaining (s : state) := let '(j, term, _) := s in Z.max 0 (last + 1 - j) * (last + 2) + Z.log2 term.
Definition sound (s : state) := let '(j, term, _) := s in 0 <= j /\ 0 <= term.

Lemma next_sound s : sound s -> sound (next n k s).
Proof.
  destruct s as [[j t] total]; cbn; intros [? ?]; split; [lia|].
  apply Z.div_pos; [|lia]. apply Z.shiftr_nonneg, Z.mul_nonneg_nonneg; assumption.
Qed.

Lemma last_least : 0 <= last.
Proof. rewrite last_is; apply Z.shiftr_nonneg; lia. Qed.

Lemma last_enough : 2 * n < 2 ^ k * (last + 1).
Proof.
  rewrite last_is, Z.shiftr_div_pow2 by assumption.
  generalize (Z.mul_succ_div_gt (2 * n) (2 ^ k)) (Z.pow_pos_nonneg 2 k); lia.
Qed.

(** The term in one division. *)
Lemma term_is t j : 0 <= j -> Z.shiftr (t * n) k / (j + 1) = t * n / (2 ^ k * (j + 1)).
Proof. intros; rewrite Z.shiftr_div_pow2, Z.div_div by lia; reflexivity. Qed.

Lemma term_grows t j : 0 <= j -> 0 <= t -> Z.shiftr (t * n) k / (j + 1) <= t * 2 ^ (last + 1).
Proof.
  intros. rewrite term_is by assumption. pose proof last_enough. pose proof last_least.
  assert (0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia).
  assert (last + 1 < 2 ^ (last + 1)) by (apply Z.pow_gt_lin_r; lia).
  apply Z.div_le_upper_bound; [nia|].
  assert (n <= 2 ^ k * 2 ^ (last + 1)) by nia.
  assert (0 <= 2 ^ k * 2 ^ (last + 1)) by lia.
  transitivity (t * (2 ^ k * 2 ^ (last + 1))); [nia|].
  assert (0 <= t * (2 ^ k * 2 ^ (last + 1))) by nia. nia.
Qed.

Lemma term_halves t j : last < j -> 0 <= t -> Z.shiftr (t * n) k / (j + 1) <= t / 2.
Proof.
  pose proof last_enough; pose proof last_least; intros. rewrite term_is by lia.
  assert (0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia).
  apply Z.div_le_lower_bound; [lia|].
  set (q := t * n / (2 ^ k * (j + 1))).
  assert (2 ^ k * (j + 1) * q <= t * n) by (apply Z.mul_div_le; nia).
  assert (0 <= q) by (apply Z.div_pos; nia).
  assert (2 * n <= 2 ^ k * (j + 1)) by nia.
  nia.
Qed.

Lemma remaining_falls s : sound s -> more last s = true -> 0 <= remaining (next n k s) < remaining s.
Proof.
  destruct s as [[j t] total]; cbn [sound]; intros [Hj Ht] M. pose proof last_least.
  pose proof (next_sound (j, t, total) (conj Hj Ht)) as [_ N].
  split; [cbn; generalize (Z.log2_nonneg (Z.shiftr (t * n) k / (j + 1))); nia|].
  cbn [remaining next]. cbn [more] in M. destruct (Z.leb_spec j last).
  - assert (Z.log2 (Z.shiftr (t * n) k / (j + 1)) <= last + 1 + Z.log2 t).
    { destruct (Z.eq_dec t 0) as [-> |].
      - rewrite Z.mul_0_l, Z.shiftr_0_l, Z.div_0_l by lia. cbn; lia.
      - rewrite <- Z.log2_mul_pow2 by lia. apply Z.log2_le_mono, term_grows; lia. }
    nia.
  - cbn in M; apply Z.ltb_lt in M.
    assert (Z.log2 (Z.shiftr (t * n) k / (j + 1)) <= Z.log2 t - 1).
    { transitivity (Z.log2 (t / 2)); [apply Z.log2_le_mono, term_halves; lia|].
      rewrite <- Z.div2_div, Z.div2_spec, Z.log2_shiftr by lia. generalize (Z.log2_pos t); lia. }
    nia.
Qed.

Lemma ticks_end m s : sound s -> remaining s < Z.of_nat m -> more last (Nat.iter m tick s) = false.
Proof.
  revert s; induction m; intros s H R; destruct (more last s) eqn:M; try (rewrite tick_done; assumption).
  - destruct (remaining_falls s H M); lia.
  - replace (S m) with (m + 1)%nat by lia. rewrite iter_add. destruct (remaining_falls s H M).
    change (Nat.iter 1 tick s) with (tick s); unfold tick at 2; rewrite M. apply IHm; [apply next_sound, H | lia].
Qed.

Lemma run_ends bits : 0 <= bits -> let start := Z.shiftl 1 bits in
  more last (run n k last (Z.to_nat (Z.log2_up ((last + 1) * (last + 2) + bits + 1))) (0, start, start)) = false.
Proof.
  pose proof last_least; intros Hb start; subst start; rewrite Z.shiftl_1_l.
  rewrite run_ticks; apply ticks_end; [cbn; lia|]. cbn [remaining].
  set (m := (last + 1) * (last + 2) + bits + 1). assert (1 < m) by (unfold m; nia).
  rewrite Nat2Z.inj_pow, Z2Nat.id by apply Z.log2_up_nonneg. change (Z.of_nat 2) with 2.
  generalize (proj2 (Z.log2_up_spec m ltac:(assumption))).
  rewrite Z.log2_pow2, Z.max_r by lia. unfold m; lia.
Qed.
End Ends.

(** What each turn keeps, the loop keeps. *)
Lemma run_keeps n k last depth (K : state -> Prop) s :
  (forall s, K s -> K (next n k s)) -> K s -> K (run n k last depth s).
Proof. intros H; revert s; induction depth; intros s Ks; cbn [run]; destruct more; auto. Qed.

(** ** The series *)

Local Open Scope R_scope.

Section Series.
Variable x : R.
Hypothesis x_positive : 0 < x.

Definition part m := / INR (fact m) * x ^ m.
Definition parts := sum_f_R0 part.

Lemma parts_converge : Un_cv parts (exp x).
Proof. exact (proj2_sig (exist_exp x)). Qed.

Lemma fact_positive m : 0 < INR (fact m).
Proof. apply lt_0_INR, lt_O_fact. Qed.

Lemma part_positive m : 0 < part m.
Proof. apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat, fact_positive | apply pow_lt, x_positive]. Qed.

Lemma part_next m : part (S m) * INR (S m) = part m * x.
Proof.
  pose proof (fact_positive m); pose proof (lt_0_INR (S m) (Nat.lt_0_succ m)).
  unfold part; rewrite fact_simpl, mult_INR; simpl pow; field; lra.
Qed.

Lemma parts_below m : parts m <= exp x.
Proof. apply sum_incr with (1 := parts_converge). intros i; left; apply part_positive. Qed.

(** i! j! <= (i + j)! *)
Lemma part_of_sum i j : part (i + j) <= part i * part j.
Proof.
  induction j.
  - rewrite Nat.add_0_r. unfold part at 3; simpl. lra.
  - rewrite Nat.add_succ_r. pose proof (part_next (i + j)); pose proof (part_next j).
    pose proof (part_positive i); pose proof (part_positive (S (i + j))).
    pose proof (lt_0_INR (S j) (Nat.lt_0_succ j)).
    assert (INR (S j) <= INR (S (i + j))) by (apply le_INR; lia).
    apply Rmult_le_reg_r with (INR (S j)); [assumption|].
    apply Rle_trans with (part (S (i + j)) * INR (S (i + j))); [nra|].
    replace (part i * part (S j) * INR (S j)) with (part i * part j * x) by (rewrite Rmult_assoc, <- H0; ring).
    rewrite H; nra.
Qed.

Lemma parts_of_sum i j : parts (i + j) <= parts i + part i * (parts j - 1).
Proof.
  induction j.
  - rewrite Nat.add_0_r. unfold parts at 3, part at 2; simpl. lra.
  - rewrite Nat.add_succ_r. unfold parts in *; rewrite !tech5. pose proof (part_of_sum i (S j)).
    rewrite Nat.add_succ_r in *. lra.
Qed.

(** What one unit lost in term m costs later on. *)
Definition later m := (exp x - parts m) / part m.

Lemma later_first : later 0 = exp x - 1.
Proof. unfold later, parts, part; simpl. field. Qed.

Lemma later_next m : later m * INR (S m) = x * (1 + later (S m)).
Proof.
  pose proof (part_positive m); pose proof (part_positive (S m)); pose proof (part_next m).
  unfold later, parts. rewrite tech5. fold (parts m).
  apply Rmult_eq_reg_l with (part m * part (S m)); [|nra].
  transitivity (part (S m) * INR (S m) * (exp x - parts m)); [field; lra|].
  rewrite H1. field; lra.
Qed.

Lemma later_least m : 0 <= later m.
Proof. pose proof (parts_below m); apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat, part_positive]. Qed.

Lemma later_most m : 1 + later m <= exp x.
Proof.
  pose proof (part_positive m). unfold later.
  enough (exp x <= parts m + part m * (exp x - 1)).
  { apply Rmult_le_reg_r with (part m); [assumption|]. unfold Rdiv; rewrite Rmult_plus_distr_r, Rmult_assoc, Rinv_l; lra. }
  apply Rnot_lt_le; intros L. set (c := parts m + part m * (exp x - 1)) in *.
  destruct (parts_converge (exp x - c)) as [N HN]; [lra|].
  specialize (HN (m + N)%nat ltac:(lia)). unfold R_dist in HN.
  assert (parts (m + N) <= c).
  { eapply Rle_trans; [apply parts_of_sum|]. pose proof (parts_below N). unfold c; nra. }
  apply Rabs_def2 in HN; lra.
Qed.
End Series.

(** ** The sum *)

Lemma floor_R a b : (0 < b)%Z -> IZR (a / b) * IZR b <= IZR a < (IZR (a / b) + 1) * IZR b.
Proof.
  intros; rewrite <- plus_IZR, <- !mult_IZR; split; [apply IZR_le | apply IZR_lt].
  - rewrite Z.mul_comm; apply Z.mul_div_le; assumption.
  - rewrite Z.mul_comm; apply Z.mul_succ_div_gt; assumption.
Qed.

Section Sum.
Variables n k start : Z.
Hypotheses (n_positive : (0 < n)%Z) (k_least : (0 <= k)%Z).
Let x := IZR n / IZR (2 ^ k).

Lemma one_positive : 0 < IZR (2 ^ k).
Proof. apply IZR_lt, Z.pow_pos_nonneg; lia. Qed.

Lemma argument_positive : 0 < x.
Proof. apply Rdiv_lt_0_compat; [apply IZR_lt, n_positive | apply one_positive]. Qed.

Definition summed (s : state) := let '(j, t, total) := s in
  exists m, j = Z.of_nat m /\ (0 <= t)%Z /\ (0 <= total)%Z /\
  IZR total + IZR t * later x m <= IZR start * exp x <= IZR total + INR m * exp x + IZR t * later x m.

Lemma summed_start : (0 <= start)%Z -> summed (0%Z, start, start).
Proof. intros; exists O; rewrite later_first; simpl INR; repeat split; try assumption; lra. Qed.

Lemma summed_next s : summed s -> summed (next n k s).
Proof.
  destruct s as [[j t] total]; intros (m & -> & Ht & Htotal & L & U); cbn [summed next].
  exists (S m); split; [lia|]. rewrite (term_is n k) by lia.
  set (t' := (t * n / _)%Z). assert (0 <= t')%Z by (apply Z.div_pos; nia). do 2 (split; [lia|]).
  pose proof one_positive as K. pose proof argument_positive as X.
  pose proof (later_next x X m) as G; pose proof (later_least x X (S m)); pose proof (later_most x X (S m)).
  assert (M : 0 < INR (S m)) by (apply lt_0_INR; lia).
  assert (F : IZR t' * INR (S m) <= IZR t * x <= (IZR t' + 1) * INR (S m)).
  { assert (B : (0 < 2 ^ k * (Z.of_nat m + 1))%Z) by nia.
    pose proof (floor_R (t * n) _ B) as F; fold t' in F.
    replace (Z.of_nat m + 1)%Z with (Z.of_nat (S m)) in F by lia. rewrite !mult_IZR, <- INR_IZR_INZ in F.
    assert (N : IZR n = x * IZR (2 ^ k)) by (unfold x; field; lra). rewrite N in F.
    split; apply Rmult_le_reg_r with (IZR (2 ^ k)); lra. }
  assert (IZR t' * (1 + later x (S m)) <= IZR t * later x m <= (IZR t' + 1) * (1 + later x (S m))).
  { split; apply Rmult_le_reg_r with (INR (S m)); try assumption; rewrite (Rmult_assoc (IZR t)), G; nra. }
  rewrite S_INR, plus_IZR. split; lra.
Qed.

(** At the loop's end what is missing is at most (j + 1) e^x. *)
Lemma sum_missing last j t total :
  (0 <= start)%Z -> more last (j, t, total) = false -> summed (j, t, total) ->
  (0 <= j)%Z /\ (0 <= total)%Z /\ IZR total <= IZR start * exp x <= IZR total + IZR (j + 1) * exp x.
Proof.
  intros Hs M (m & -> & Ht & Htotal & L & U). pose proof argument_positive as X.
  apply orb_false_elim in M as [_ M]; apply Z.ltb_ge in M.
  do 2 (split; [lia|]). rewrite plus_IZR, <- INR_IZR_INZ.
  apply IZR_le in Ht, M. pose proof (later_least x X m); pose proof (later_most x X m). nra.
Qed.
End Sum.

(** ** The digits before [extra] *)

(** The code's allowance is enough, if it is small beside the sum: and it is, if it changes no digit. *)
Lemma rest_covers total start j e :
  (0 <= j)%Z -> (0 < start)%Z -> (0 <= total)%Z -> (4 * (j + 1) * (total / start + 2) < start)%Z ->
  IZR start * e <= IZR total + IZR (j + 1) * e -> 0 <= e ->
  IZR start * e <= IZR (total + 4 * (j + 1) * (total / start + 2)).
Proof.
  intros Hj Hs Ht R U He. destruct (floor_R total start Hs) as [_ F].
  assert (0 <= total / start)%Z by (apply Z.div_pos; lia).
  assert (J : (8 * (j + 1) <= start)%Z) by nia.
  apply IZR_le in J; apply IZR_le in H. apply IZR_lt in Hs. assert (0 < IZR (j + 1)) by (apply IZR_lt; lia).
  rewrite mult_IZR in J. rewrite plus_IZR, (mult_IZR (4 * (j + 1))), (mult_IZR 4), (plus_IZR (total / start)).
  enough (e <= 4 * (IZR (total / start) + 2)) by nra.
  apply Rmult_le_reg_l with (IZR start); [assumption|].
  assert (8 * IZR (j + 1) * e <= IZR start * e) by nra.
  nra.
Qed.

Lemma digits total rest k extra e :
  (0 <= k)%Z -> (0 <= extra)%Z -> Z.shiftr total extra = Z.shiftr (total + rest) extra ->
  IZR total <= IZR (2 ^ (k + extra)) * e <= IZR (total + rest) ->
  IZR (Z.shiftr total extra) <= IZR (2 ^ k) * e < IZR (Z.shiftr total extra) + 1.
Proof.
  intros Hk He S [L U]. rewrite !Z.shiftr_div_pow2 in S by assumption. rewrite Z.shiftr_div_pow2 by assumption.
  assert (P : (0 < 2 ^ extra)%Z) by (apply Z.pow_pos_nonneg; lia).
  destruct (floor_R total _ P) as [A _], (floor_R (total + rest) _ P) as [_ B]. rewrite <- S in B.
  rewrite Z.pow_add_r, mult_IZR in L, U by assumption. apply IZR_lt in P.
  split; [apply Rmult_le_reg_r with (IZR (2 ^ extra)) | apply Rmult_lt_reg_r with (IZR (2 ^ extra))]; try assumption; nra.
Qed.

Lemma no_digit_changes total rest extra :
  (0 <= extra)%Z -> Z.shiftr total extra = Z.shiftr (total + rest) extra -> (rest < 2 ^ extra)%Z.
Proof.
  intros He S. rewrite !Z.shiftr_div_pow2 in S by assumption.
  assert (P : (0 < 2 ^ extra)%Z) by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.mul_div_le total _ P); pose proof (Z.mul_succ_div_gt (total + rest) _ P). rewrite <- S in *. nia.
Qed.

Lemma series_bounds n k extra total rest :
  (0 <= n)%Z -> (0 <= k)%Z -> (0 <= extra)%Z -> series n k (k + extra) = (total, rest) ->
  Z.shiftr total extra = Z.shiftr (total + rest) extra ->
  IZR total <= IZR (2 ^ (k + extra)) * exp (IZR n / IZR (2 ^ k)) <= IZR (total + rest).
Proof.
  intros Hn Hk He S D. unfold series in S. destruct (Z.eqb_spec n 0) as [-> |].
  { injection S as <- <-. unfold Rdiv. rewrite Z.shiftl_1_l, Rmult_0_l, exp_0, Z.add_0_r. lra. }
  apply no_digit_changes in D; [|assumption].
  set (last := Z.shiftr (2 * n) k) in S. set (start := Z.shiftl 1 (k + extra)) in S.
  assert (Hs : start = (2 ^ (k + extra))%Z) by apply Z.shiftl_1_l.
  assert (0 < start)%Z by (rewrite Hs; apply Z.pow_pos_nonneg; lia).
  destruct (run _ _ _ _ _) as [[j t] sum] eqn:R in S. apply pair_equal_spec in S as [-> S].
  rewrite Z.shiftr_div_pow2, <- Hs in S by lia. rewrite <- Hs.
  assert (M : more last (j, t, total) = false) by (rewrite <- R; apply run_ends; lia).
  assert (K : summed n k start (j, t, total)) by (rewrite <- R; apply run_keeps; [apply summed_next | apply summed_start]; lia).
  destruct (sum_missing n k start ltac:(lia) Hk last j t total ltac:(lia) M K) as (? & ? & L & U).
  split; [exact L|]. rewrite <- S in *. apply rest_covers; try assumption.
  - apply Z.lt_le_trans with (1 := D). rewrite Hs. apply Z.pow_le_mono_r; lia.
  - left; apply exp_pos.
Qed.

Lemma precision_least x : (320 <= precision x)%Z.
Proof. unfold precision; lia. Qed.

(** 2^k e^x', rounded down: whoever computes this gets the same. *)
Theorem exponential_digits x below above :
  (0 <= x)%Q -> exponential x = Some (below, above) ->
  let k := precision (reduced x) in let n := (Qnum (reduced x) * 2 ^ k / QDen (reduced x))%Z in
  exists short, below = short # Z.to_pos (2 ^ k) /\
    IZR short <= IZR (2 ^ k) * exp (IZR n / IZR (2 ^ k)) < IZR short + 1 /\
    above = if (Qnum (reduced x) =? 0)%Z then below else (short * (2 ^ k + 4))%Z # Z.to_pos (2 ^ k * 2 ^ k).
Proof.
  intros Hx. apply reduced_least in Hx. pose proof (precision_least (reduced x)) as Hk.
  unfold exponential. cbv zeta. set (y := reduced x) in *. set (k := precision y) in *.
  rewrite !(Z.shiftl_1_l k). set (n := (Qnum y * 2 ^ k / QDen y)%Z).
  set (extra := (k + _ + 400)%Z). destruct (series n k (k + extra)) as [total rest] eqn:S.
  destruct (Z.eqb_spec (Z.shiftr total extra) (Z.shiftr (total + rest) extra)) as [D|]; [|discriminate].
  intros [= <- <-]. eexists; split; [reflexivity|]. split; [|reflexivity].
  assert (0 < 2 ^ k)%Z by (apply Z.pow_pos_nonneg; lia).
  assert (0 <= n)%Z by (apply Z.div_pos; lia).
  assert (0 <= extra)%Z.
  { enough (0 <= 3 * n / Z.shiftl 1 (k + 1))%Z by lia. apply Z.div_pos; [lia|].
    rewrite Z.shiftl_1_l. apply Z.pow_pos_nonneg; lia. }
  apply digits with rest; try assumption; [lia|]. apply series_bounds; try assumption; lia.
Qed.

(** ** The theorems *)

(** The library's own lemmas on order rest on one axiom more than these. *)
Lemma exp_at_least x : 0 <= x -> 1 <= exp x.
Proof.
  intros [H | <-]; [|rewrite exp_0; lra]. pose proof (parts_below x H 0) as L. unfold parts, part in L; simpl in L. lra.
Qed.

Lemma exp_small h : 0 <= h <= 1 / 2 -> exp h <= 1 + 2 * h.
Proof.
  intros [[H | <-] L]; [|rewrite exp_0; lra].
  pose proof (later_next h H 0) as N; pose proof (later_most h H 1). rewrite later_first in N; simpl INR in N. nra.
Qed.

(** One bit more of x is less than twice that bit of e^x, and what was rounded off e^x is another one. *)
Lemma digits_enclose b one x x' :
  4 <= one -> 0 <= x' <= x -> (x - x') * one <= 1 -> IZR b <= one * exp x' < IZR b + 1 ->
  IZR b / one <= exp x <= IZR b * (one + 4) / (one * one).
Proof.
  intros Ho [H0 Hx] Hd [L U]. set (h := x - x').
  assert (E : exp x = exp x' * exp h) by (rewrite <- exp_plus; f_equal; unfold h; ring).
  assert (Hh : 0 <= h <= 1 / 2) by (unfold h; split; nra).
  pose proof (exp_small h Hh). pose proof (exp_at_least h (proj1 Hh)). pose proof (exp_at_least x' H0).
  assert (one <= one * exp x') by nra. rewrite E; split.
  - apply Rmult_le_reg_r with one; [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra.
    assert (one * exp x' * 1 <= one * exp x' * exp h) by (apply Rmult_le_compat_l; lra). lra.
  - assert (0 < one * one) by nra. apply Rmult_le_reg_r with (one * one); [assumption|].
    replace (IZR b * (one + 4) / (one * one) * (one * one)) with (IZR b * (one + 4)) by (field; lra).
    assert (one * exp h <= one + 2) by (unfold h in *; nra).
    assert (one - 1 < IZR b) by lra.
    assert (one * exp x' * (one * exp h) <= (IZR b + 1) * (one + 2)) by (apply Rmult_le_compat; nra).
    nra.
Qed.

Lemma Q2R_make a (b : Z) : (0 < b)%Z -> Q2R (a # Z.to_pos b) = IZR a / IZR b.
Proof. intros; unfold Q2R; cbn [Qnum Qden]; rewrite Z2Pos.id by assumption; reflexivity. Qed.

(** x rounded down to a multiple of 1 / one. *)
Lemma argument_down x one : (0 <= Qnum x)%Z -> (0 < one)%Z -> let x' := IZR (Qnum x * one / QDen x) / IZR one in
  0 <= x' <= Q2R x /\ (Q2R x - x') * IZR one <= 1.
Proof.
  intros Hx Ho; cbv zeta. destruct (floor_R (Qnum x * one) (QDen x) (Pos2Z.is_pos _)) as [L U].
  assert (N : (0 <= Qnum x * one / QDen x)%Z) by (apply Z.div_pos; lia). apply IZR_le in N.
  set (n := IZR (_ / _)) in *. rewrite mult_IZR in L, U. apply IZR_lt in Ho.
  assert (P : 0 < IZR (QDen x)) by (apply IZR_lt; reflexivity).
  assert (E : IZR (Qnum x) = Q2R x * IZR (QDen x)) by (unfold Q2R; field; lra).
  assert (D : n / IZR one * IZR one = n) by (field; lra). rewrite E in *.
  assert (n <= Q2R x * IZR one) by (apply Rmult_le_reg_r with (IZR (QDen x)); lra).
  assert (Q2R x * IZR one <= n + 1) by (apply Rmult_le_reg_r with (IZR (QDen x)); lra).
  repeat split; [| |lra]; apply Rmult_le_reg_r with (IZR one); lra.
Qed.

Theorem exponential_right x below above :
  (0 <= x)%Q -> exponential x = Some (below, above) -> Q2R below <= exp (Q2R x) <= Q2R above.
Proof.
  intros Hx H. destruct (exponential_digits x below above Hx H) as (b & -> & B & ->); clear H.
  rewrite <- (Qeq_eqR _ _ (reduced_equal x)). pose proof (precision_least (reduced x)) as Hk. apply reduced_least in Hx.
  revert Hk Hx B. generalize (reduced x); clear x; intros x. set (k := precision x). intros Hk Hx B.
  assert (K : (4 <= 2 ^ k)%Z) by (apply (Z.pow_le_mono_r 2 2); lia).
  assert (O : 4 <= IZR (2 ^ k)) by (apply IZR_le, K).
  rewrite Q2R_make by lia. destruct (Z.eqb_spec (Qnum x) 0) as [Z|].
  - unfold Q2R at 1 2; rewrite Z in *. unfold Rdiv in B; rewrite Z.mul_0_l, Z.div_0_l, !Rmult_0_l, exp_0 in * by lia.
    assert (b = 2 ^ k)%Z as ->.
    { rewrite Rmult_1_r, <- plus_IZR in B. destruct B as [B1 B2]. apply le_IZR in B1. apply lt_IZR in B2. lia. }
    rewrite Q2R_make by lia. unfold Rdiv; rewrite Rinv_r; lra.
  - rewrite Q2R_make, !mult_IZR, plus_IZR by nia. destruct (argument_down x (2 ^ k) Hx ltac:(lia)).
    apply digits_enclose with (2 := H); assumption.
Qed.

Theorem exponential_0 x : (x == 0)%Q -> exists one, exponential x = Some (one, one) /\ (one == 1)%Q.
Proof.
  intros E; rewrite (exponential_of_number _ _ E). exists (2 ^ 321 # 2 ^ 321)%Q.
  split; [vm_compute; reflexivity | reflexivity].
Qed.

(** ** The definition of privacy in a certificate *)

Lemma Qle_bool_R a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. rewrite Qle_bool_iff; apply Qle_Rle. Qed.

Lemma not_Qle_bool_R a b : negb (Qle_bool a b) = true -> Q2R b < Q2R a.
Proof.
  rewrite negb_true_iff; intros H. apply Qlt_Rlt, Qnot_le_lt. rewrite <- Qle_bool_iff, H; discriminate.
Qed.

Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R; cbn; lra. Qed.

Lemma definition_range y epsilon d r :
  definition y epsilon d = Some r -> fst (fst r) = y /\ snd r = d /\ 1 <= Q2R y /\ 0 <= Q2R d < 1.
Proof.
  unfold definition. destruct (_ && _ && _) eqn:C; [|intros H; discriminate H].
  rewrite !andb_true_iff in C; destruct C as [[A%Qle_bool_R B%Qle_bool_R] D%not_Qle_bool_R].
  rewrite ?Q2R_1, ?RMicromega.Q2R_0 in *. intros H. enough (fst (fst r) = y /\ snd r = d) by (repeat split; try apply H0; lra).
  destruct epsilon as [e|]; [|injection H as <-; split; reflexivity].
  destruct (_ && _) in H; [|discriminate H]. destruct (exponential e) as [[b a]|]; [|discriminate H].
  destruct (_ && _) in H; [injection H as <-; split; reflexivity | discriminate H].
Qed.

(** With an epsilon: the ratio is e^epsilon, rounded down in a far digit. *)
Theorem definition_right y epsilon d ratio above delta :
  definition y (Some epsilon) d = Some (ratio, above, delta) ->
  0 <= Q2R epsilon <= 8192 /\ 1 <= Q2R y <= exp (Q2R epsilon) /\ exp (Q2R epsilon) <= Q2R above /\
  exp (Q2R epsilon) - Q2R y <= (exp (Q2R epsilon) - 1) / 2 ^ 100 /\ Q2R above - Q2R y <= (Q2R above - 1) / 2 ^ 100.
Proof.
  intros H. destruct (definition_range _ _ _ _ H) as (_ & _ & Y & _). unfold definition in H.
  destruct (_ && _ && _) in H; [|discriminate H]. destruct (_ && _) eqn:R in H; [|discriminate H].
  destruct (exponential epsilon) as [[below up]|] eqn:X; [|discriminate H]. destruct (_ && _) eqn:F in H; [|discriminate H].
  injection H as <- <- <-. apply andb_true_iff in R as [R0 R1], F as [F0 F1].
  destruct (exponential_right epsilon below up) as [L U]; [apply Qle_bool_iff, R0 | exact X | clear X].
  apply Qle_bool_R in R0, R1, F0, F1. rewrite Q2R_mult, !Q2R_minus, Q2R_1 in F1.
  replace (Q2R (1 # 2 ^ 100)) with (/ 2 ^ 100) in F1 by
    (unfold Q2R; cbn [Qnum Qden]; rewrite Rmult_1_l, (pow_IZR 2 100); reflexivity).
  rewrite RMicromega.Q2R_0 in R0. replace (Q2R 8192) with 8192 in R1 by (unfold Q2R; cbn; lra).
  lra.
Qed.

(** Without one, the ratio is the claim. *)
Theorem definition_of_ratio y d ratio above delta : definition y None d = Some (ratio, above, delta) -> above = y.
Proof. unfold definition. destruct (_ && _ && _); [intros [= <- <- <-]; reflexivity | discriminate]. Qed.

(** What is private with the file's ratio is so with epsilon: Definition 1. *)
Theorem definition_private y epsilon d ratio above delta (P P' : privacy) p q :
  definition y (Some epsilon) d = Some (ratio, above, delta) ->
  Step.ratio P = Q2R y -> Step.delta P = Q2R d -> Step.ratio P' = exp (Q2R epsilon) -> Step.delta P' = Q2R d ->
  probability q -> hidden P p q -> hidden P' p q.
Proof.
  intros D E1 E2 E3 E4 [Hq0 Hq1] H S. apply definition_right in D as (_ & (_ & L) & _).
  specialize (H S). rewrite E1, E2 in H; rewrite E3, E4.
  assert (0 <= chance q S) by (unfold chance; destruct (S true), (S false); lra). nra.
Qed.

(** An example that passes, and one that does not: the ratio to the last bit, and one bit more. *)
Definition below_e := match exponential 1 with Some (below, _) => below | None => 0%Q end.

Example definition_passes :
  match definition below_e (Some 1%Q) (1 # 1000000) with Some (y, _, _) => Qeq_bool y below_e | None => false end = true.
Proof. vm_compute; reflexivity. Qed.

Example definition_refuses : definition (below_e + (1 # 2 ^ 320)) (Some 1%Q) (1 # 1000000) = None.
Proof. vm_compute; reflexivity. Qed.
